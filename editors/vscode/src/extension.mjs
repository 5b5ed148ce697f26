// What both editions share: the client, its commands, the panel. Who answers is for the edition to say.

import { ProgressLocation, Uri, commands, window, workspace } from 'vscode';

import { follow, moduleOf, rootOf } from './app.mjs';
import { Conversation, Inside } from './inside.mjs';
import { Panel } from './panel.mjs';

/**
 * Starts the extension.
 * @param {import('vscode').ExtensionContext} context
 * @param edition `Client`: the class of the client library; `find`: the executable, if there is one;
 *   `outside(path)`: how the client starts it; `run(path, uri, token)`: what a script gives
 */
export async function start(context, edition) {
  const log = window.createOutputChannel('qlio', { log: true });
  const panel = new Panel();
  context.subscriptions.push(log, panel);
  let session;

  const open = async () => {
    const executable = await edition.find(log);
    await commands.executeCommand('setContext', 'qlio.canRun', executable !== undefined);
    session = await connect(context, edition, executable, { log, panel });
  };
  const close = async () => {
    const closing = session;
    session = undefined;
    await closing?.client.stop();
    closing?.watcher?.dispose();
  };
  const command = (name, action) => {
    const told = async (...args) => {
      try {
        return await action(...args);
      } catch (error) {
        log.error(error);
        await window.showErrorMessage(`qlio: ${error.message}`);
      }
    };
    context.subscriptions.push(commands.registerCommand(name, told));
  };

  command('qlio.restart', async () => {
    await close();
    await open();
  });
  command('qlio.planScript', async (uri) => {
    const of = uri ?? window.activeTextEditor?.document.uri;
    if (of) await commands.executeCommand('qlio.plan', of.toString());
  });
  const run = async (uri) => {
    const of = uri ? Uri.parse(uri.toString()) : window.activeTextEditor?.document.uri;
    const executable = session?.executable ?? (await edition.find(log));
    if (!of || !executable) return;
    await workspace.textDocuments.find((document) => document.uri.toString() === of.toString())?.save();
    const title = `Run ${of.path.slice(of.path.lastIndexOf('/') + 1)}`;
    const { text, note } = await window.withProgress(
      { location: ProgressLocation.Notification, title, cancellable: true },
      (_, token) => edition.run(executable, of, rootOf(), token),
    );
    panel.show(title, text, note);
  };
  command('qlio.runScript', run);
  // Lenses of the server name this one.
  command('qlio.run', run);

  context.subscriptions.push(
    { dispose: close },
    workspace.onDidGrantWorkspaceTrust(() => commands.executeCommand('qlio.restart')),
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('qlio')) void commands.executeCommand('qlio.restart');
    }),
  );
  await open();
  return { whoAnswers: () => session?.who };
}

/** Connects the client with the executable or with the server inside. */
async function connect(context, edition, executable, { log, panel }) {
  const root = rootOf();
  const wanted = workspace.getConfiguration('qlio').get('server');
  const isInside = executable === undefined || wanted === 'inside';
  let watcher;
  let conversation;
  const inside = async () => {
    const server = await Inside.load(await moduleOf(context));
    conversation = new Conversation(server);
    if (root) {
      watcher = await follow(server, root, (reason) => log.warn(reason), () => {
        // Whoever changed a file outside of the editor.
        void conversation.writer.write({
          jsonrpc: '2.0',
          method: 'workspace/didChangeWatchedFiles',
          params: { changes: [] },
        });
      });
    }
    return { reader: conversation.reader, writer: conversation.writer };
  };
  const client = new edition.Client('qlio', 'qlio', isInside ? inside : edition.outside(executable, root), {
    documentSelector: [{ language: 'qlio' }],
    outputChannel: log,
    initializationOptions: executable === undefined ? {} : { commands: ['qlio.run'] },
    middleware: {
      executeCommand: async (name, args, next) => {
        const result = await next(name, args);
        if (name === 'qlio.plan' && typeof result === 'string') panel.show('Plan', result);
        return result;
      },
    },
  });
  const who = isInside ? 'the server inside' : executable;
  log.info(`${who} answers`);
  await client.start();
  return { client, watcher, executable, who };
}
