// All scripts of the app, open at the language service, whichever of them the editor shows: what is
// changed in one is known in the others, and a rename changes all of them.

import { type LSPClient, LSPPlugin, Workspace, type WorkspaceFile } from "@codemirror/lsp-client";
import type { ChangeSet, EditorState, Text, TransactionSpec } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";

/** How the page keeps its files. */
export interface Keeper {
  uris(): readonly string[];
  /** The state of a file that is not shown. */
  stateOf(uri: string): EditorState;
  keep(uri: string, state: EditorState): void;
  /** Shows a file, if there is one. */
  show(uri: string): EditorView | null;
}

interface Pending {
  changes: ChangeSet;
  file: OpenFile;
  prevDoc: Text;
}

class OpenFile implements WorkspaceFile {
  readonly languageId = "qlio";
  version = 0;
  view: EditorView | null = null;

  constructor(
    readonly uri: string,
    public doc: Text,
  ) {}

  getView(): EditorView | null {
    return this.view;
  }
}

export class AppWorkspace extends Workspace {
  files: OpenFile[];
  private pending: Pending[] = [];

  constructor(
    client: LSPClient,
    private readonly keeper: Keeper,
  ) {
    super(client);
    this.files = keeper.uris().map((uri) => new OpenFile(uri, keeper.stateOf(uri).doc));
  }

  private file(uri: string): OpenFile | undefined {
    return this.files.find((file) => file.uri === uri);
  }

  /** Takes a file that is new. */
  add(uri: string): void {
    const file = new OpenFile(uri, this.keeper.stateOf(uri).doc);
    this.files.push(file);
    this.client.didOpen(file);
  }

  override syncFiles() {
    const found = this.pending;
    this.pending = [];
    for (const file of this.files) {
      const plugin = file.view && LSPPlugin.get(file.view);
      if (!file.view || !plugin || plugin.unsyncedChanges.empty) continue;
      found.push({ changes: plugin.unsyncedChanges, file, prevDoc: file.doc });
      file.doc = file.view.state.doc;
      file.version += 1;
      plugin.clear();
    }
    return found;
  }

  override openFile(uri: string, _languageId: string, view: EditorView): void {
    const file = this.file(uri);
    if (!file) throw new Error(`${uri} is no file of the app`);
    file.view = view;
  }

  override closeFile(uri: string): void {
    const file = this.file(uri);
    if (file) file.view = null;
  }

  override updateFile(uri: string, update: TransactionSpec): void {
    const file = this.file(uri);
    if (!file) return;
    if (file.view) {
      file.view.dispatch(update);
      return;
    }
    const transaction = this.keeper.stateOf(uri).update(update);
    this.keeper.keep(uri, transaction.state);
    this.pending.push({ changes: transaction.changes, file, prevDoc: file.doc });
    file.doc = transaction.state.doc;
    file.version += 1;
    this.client.sync();
  }

  override async displayFile(uri: string): Promise<EditorView | null> {
    return this.keeper.show(uri);
  }
}
