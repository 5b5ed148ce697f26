// The tables of the server: what they ask for, what they say, and a select to begin with.

import { signal } from "@preact/signals";
import { showPane } from "../app/panes.ts";
import { insert } from "../editor/editor.ts";
import { type Table, VERBS, type Verb, catalogProblem, routes, tables } from "../server/catalog.ts";
import { Documentation } from "./documentation.tsx";
import { List } from "./list.tsx";

/** A table that is to be opened in the list. */
export const wantedTable = signal("");

export function TablesPane() {
  return (
    <List
      label="Tables"
      entries={tables.value}
      nameOf={({ name }) => name}
      wordsOf={({ name }) => name}
      open={(table) => <TableDetails table={table} />}
      empty={catalogProblem.value || "This server shows no tables."}
      wanted={wantedTable}
    />
  );
}

function TableDetails({ table }: { table: Table }) {
  const using = (table.routes ?? []).map(nameOfRoute);
  return (
    <>
      <Documentation html={table.info} />
      {VERBS.map((name) => {
        const verb = table[name];
        return verb && <VerbDetails key={name} name={name} verb={verb} />;
      })}
      {using.length > 0 && (
        <section aria-label="Used by">
          <p>Used by</p>
          <ul class="params">
            {using.map((name) => (
              <li key={name}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
        </section>
      )}
      {table.select && (
        <button
          class="primary"
          onClick={() => {
            showPane("script");
            insert(selectOf(table));
          }}
        >
          Insert a select
        </button>
      )}
    </>
  );
}

function VerbDetails({ name, verb }: { name: string; verb: Verb }) {
  const headers = Object.entries(verb.headers ?? {});
  return (
    <section class="verb" aria-label={name}>
      <p>
        <b>{name}</b> {(verb.method ?? "").toUpperCase()} <code class="uri">{verb.uri}</code>
      </p>
      {(verb.params ?? []).length > 0 && (
        <ul class="params">
          {verb.params?.map(({ variable, required, default: value }) => (
            <li key={variable}>
              <code>{variable}</code>
              {required && <span class="note-chip">required</span>}
              {value !== undefined && <span class="quiet"> default {JSON.stringify(value)}</span>}
            </li>
          ))}
        </ul>
      )}
      {headers.length > 0 && (
        <ul class="params">
          {headers.map(([header, value]) => (
            <li key={header}>
              <code>
                {header}: {value}
              </code>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** A select of the table, with its required parameters to be filled in. */
export function selectOf(table: Table): string {
  const required = (table.select?.params ?? []).filter((param) => param.required);
  const tests = required.map(({ variable }) => `${variable} = ''`).join(" and ");
  return `select * from ${table.name}${tests ? ` where ${tests}` : ""}\n`;
}

function nameOfRoute(uri: string): string {
  const query = new URLSearchParams(uri.slice(uri.indexOf("?") + 1));
  const path = query.get("path");
  if (path === null) return uri;
  const route = routes.peek().find((candidate) => candidate.path === path);
  return `${(route?.method ?? query.get("method") ?? "get").toUpperCase()} ${path}`;
}
