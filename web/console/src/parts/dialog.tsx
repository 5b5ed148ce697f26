// A dialog of the browser's own, which keeps the focus inside and gives it back.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    element.current?.showModal();
    return () => element.current?.close();
  }, []);
  return (
    <dialog ref={element} aria-label={title} onCancel={onClose} onClick={(event) => event.target === element.current && onClose()}>
      <header>
        <h2>{title}</h2>
        <button aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
