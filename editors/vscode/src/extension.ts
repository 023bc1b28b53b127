// Starts `ragged-lsp` for MLIR files.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { ExtensionContext, window, workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

/** The command of the server: as the setting says, from the folder that is open where there is such a file. */
function command(): string {
  const setting = workspace.getConfiguration("ragged").get<string>("server", "ragged-lsp");
  const folders = (workspace.workspaceFolders ?? []).map((folder) => join(folder.uri.fsPath, setting));
  return folders.find((path) => setting.includes("/") && existsSync(path)) ?? setting;
}

export async function activate(context: ExtensionContext): Promise<void> {
  const server = { command: command(), args: ["--stdio"] };
  client = new LanguageClient("ragged", "MLIR with ragged tensors", server, {
    documentSelector: [{ scheme: "file", language: "mlir" }, { scheme: "untitled", language: "mlir" }],
  });
  context.subscriptions.push(client);
  try {
    await client.start();
  } catch (error) {
    const hint = "pip install ragged-dialect[lsp], or set ragged.server";
    void window.showErrorMessage(`expected ${server.command} to start (${hint}), got: ${String(error)}`);
  }
}

export function deactivate(): Promise<void> | undefined {
  return client?.stop();
}
