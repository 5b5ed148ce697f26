// The palette of all commands, and the help with their keys.

import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../parts/dialog.tsx";
import { urlOf } from "../server/place.ts";
import { COMMANDS, EDITOR_KEYS, isHelpOpen, isPaletteOpen, keyWords } from "./commands.ts";

export function Palette() {
  return isPaletteOpen.value ? <Open /> : null;
}

function Open() {
  const [words, setWords] = useState("");
  const [place, setPlace] = useState(0);
  const found = COMMANDS.filter(
    ({ words: name, isPossible }) => name.toLowerCase().includes(words.toLowerCase()) && (isPossible?.() ?? true),
  );
  const close = () => (isPaletteOpen.value = false);
  const run = (index: number) => {
    close();
    const command = found[index];
    // After the dialog has given the focus back.
    if (command) setTimeout(command.run, 0);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setPlace(Math.min(found.length - 1, place + 1));
    else if (event.key === "ArrowUp") setPlace(Math.max(0, place - 1));
    else if (event.key === "Enter") run(place);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Commands" onClose={close}>
      <input
        class="palette-input"
        autofocus
        aria-label="Command"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[place] && `command-${found[place].name}`}
        value={words}
        onInput={({ currentTarget }) => {
          setWords(currentTarget.value);
          setPlace(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul class="palette" id="palette-list" role="listbox" aria-label="Commands">
        {found.map(({ name, words: label, keys }, index) => (
          <li key={name} id={`command-${name}`} role="option" aria-selected={index === place} onClick={() => run(index)}>
            {label}
            <span class="gap" />
            {keys[0] && <kbd>{keyWords(keys[0])}</kbd>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

export function Help() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <table class="keys">
        <tbody>
          {COMMANDS.filter(({ keys }) => keys.length > 0).map(({ name, words, keys }) => (
            <tr key={name}>
              <th scope="row">{words}</th>
              <td>
                {keys.map((one) => (
                  <Fragment key={one}>
                    <kbd>{keyWords(one)}</kbd>{" "}
                  </Fragment>
                ))}
              </td>
            </tr>
          ))}
          {EDITOR_KEYS.map(({ words, keys }) => (
            <tr key={words}>
              <th scope="row">{words}</th>
              <td>
                <kbd>{keyWords(keys)}</kbd>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p>
        <a href={urlOf("console/NOTICE").href}>Licences of what this page contains</a>
      </p>
    </Dialog>
  );
}
