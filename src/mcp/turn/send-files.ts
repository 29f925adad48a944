// Files that go with a question. Each becomes a copy in the session, read by the executor under the project's policy and
// never by this process; what does not fit is only named. One that stands there unchanged is not sent again.
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import { bareTurn, configuredTurn } from "../../protocol/api/turn-start.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { requireSendable, type ContextPath } from "./context-paths.ts";
import { groupDigits } from "../../kit/text/cut-text.ts";

/** About 100,000 tokens in all, so that there is room for the conversation. */
const budgetBytes = 300_000;

export type FilesToSend = { whole: ContextPath[]; named: ContextPath[] };

export function selectFiles(paths: ContextPath[]): FilesToSend {
  let left = budgetBytes;
  const plan: FilesToSend = { whole: [], named: [] };
  for (const file of paths.map(requireSendable)) {
    const fits = file.stat.size <= left;
    if (fits) left -= file.stat.size;
    plan[fits ? "whole" : "named"].push(file);
  }
  return plan;
}

/** Said beside the question, never stored as the user's words. */
export function namedFilesText({ named }: FilesToSend): string | null {
  if (named.length === 0) return null;
  const lines = named.map(({ path, stat }) => `- ${path} (${groupDigits(stat.size)} bytes)`);
  return `These files are too large to be included. If you need one, say which part of it:\n${lines.join("\n")}`;
}

export async function sendFiles(api: Api, session: Session, { whole }: FilesToSend): Promise<void> {
  const path = session.tip === null ? [] : await api.node.path({ node: session.tip });
  for (const file of whole.filter((each) => !path.some((node) => isCopy(node, each)))) await copyFile(api, session.id, file);
}

function isCopy(node: Node, { path, stat }: ContextPath): boolean {
  const copied = node.parts.some(
    (part) => part.kind === "handle" && part.handle.identifier === path && part.handle.metadata.bytes === stat.size,
  );
  return copied && stat.mtimeMs < node.at && stat.ctimeMs < node.at;
}

async function copyFile(api: Api, session: string, { path }: ContextPath): Promise<void> {
  const { policy } = configuredTurn(await api.config.values());
  const file = quoted(path);
  const command = `if [ -s ${file} ] && ! grep -qI '' ${file}; then echo 'it is not text' >&2; exit 1; fi; cat -- ${file}`;
  const copies = { source: "file", identifier: path, sentBytes: budgetBytes };
  for await (const event of api.turn.start({ ...bareTurn(session, policy), command, copies })) {
    if (event.type === "turn.ended" && event.turn.error !== null)
      throw new Fault("file-unreadable", `context: ${path} can't be read: ${event.turn.error.message}`);
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
