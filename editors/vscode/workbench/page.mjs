// The workbench of VS Code with one extension, as a page: `workbench.test.mjs` serves and drives it.

import '@codingame/monaco-vscode-extension-api/localExtensionHost';
import '@codingame/monaco-vscode-theme-defaults-default-extension';

import { initialize } from '@codingame/monaco-vscode-api';
import { ExtensionHostKind, registerExtension } from '@codingame/monaco-vscode-api/extensions';
import { URI } from '@codingame/monaco-vscode-api/vscode/vs/base/common/uri';
import getConfiguration from '@codingame/monaco-vscode-configuration-service-override';
import getExtensions from '@codingame/monaco-vscode-extensions-service-override';
import getFiles, {
  RegisteredFileSystemProvider,
  RegisteredMemoryFile,
  registerFileSystemOverlay,
} from '@codingame/monaco-vscode-files-service-override';
import getKeybindings from '@codingame/monaco-vscode-keybindings-service-override';
import getLanguages from '@codingame/monaco-vscode-languages-service-override';
import getModel from '@codingame/monaco-vscode-model-service-override';
import getTextmate from '@codingame/monaco-vscode-textmate-service-override';
import getTheme from '@codingame/monaco-vscode-theme-service-override';
import getWorkbench from '@codingame/monaco-vscode-workbench-service-override';

window.MonacoEnvironment = {
  getWorker: (_, label) =>
    new Worker(label === 'TextMateWorker' ? '/textmate.worker.js' : '/editor.worker.js', { type: 'module' }),
};

const provider = new RegisteredFileSystemProvider(false);
for (const [path, text] of Object.entries(await (await fetch('/app.json')).json())) {
  provider.registerFile(new RegisteredMemoryFile(URI.file(path), text));
}
registerFileSystemOverlay(1, provider);

const services = {
  ...getExtensions({ enableWorkerExtensionHost: false }),
  ...getFiles(),
  ...getConfiguration(),
  ...getModel(),
  ...getKeybindings(),
  ...getLanguages(),
  ...getTextmate(),
  ...getTheme(),
  ...getWorkbench(),
};
const workspace = { folderUri: URI.file('/workspace') };
await initialize(services, document.body, {
  workspaceProvider: { trusted: true, workspace, open: async () => false },
});

const manifest = await (await fetch('/extension/package.json')).json();
const extension = registerExtension(manifest, ExtensionHostKind.LocalProcess);
const packed = ['dist/browser.cjs', 'dist/language.wasm', 'dist/qlio.tmLanguage.json', 'language-configuration.json'];
for (const path of packed) {
  extension.registerFileUrl(`/${path}`, new URL(`/extension/${path}`, window.location).href);
}
await extension.whenReady();
window.vscode = await extension.getApi();
