// Sends files along with a question. The executor reads each file under the project's policy and copies it into the session;
// this process reads none. Files that do not fit are only listed. An unchanged file is not sent again.
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import { bareTurn, configuredTurn } from "../../protocol/api/turn-options.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { requireSendable, type ContextPath } from "./context-paths.ts";
import { shellQuote } from "../../kit/text/shell-quote.ts";
import { groupDigits } from "../../kit/text/cut-text.ts";

/** About 100,000 tokens in all, which leaves space for the conversation. */
const budgetBytes = 300_000;

export type FilesToSend = { sent: ContextPath[]; listed: ContextPath[] };

export function selectFiles(paths: ContextPath[]): FilesToSend {
  let remainingBytes = budgetBytes;
  const plan: FilesToSend = { sent: [], listed: [] };
  for (const file of paths.map(requireSendable)) {
    const fits = file.stat.size <= remainingBytes;
    if (fits) remainingBytes -= file.stat.size;
    plan[fits ? "sent" : "listed"].push(file);
  }
  return plan;
}

/** A text for the system prompt, because the list is not part of the user's question. */
export function listedFilesText({ listed }: FilesToSend): string | null {
  if (listed.length === 0) return null;
  const lines = listed.map(({ path, stat }) => `- ${path} (${groupDigits(stat.size)} bytes)`);
  return `These files are too large to be included. If you need one, say which part of it:\n${lines.join("\n")}`;
}

export async function sendFiles(api: Api, session: Session, { sent }: FilesToSend): Promise<void> {
  const path = session.tip === null ? [] : await api.node.path({ node: session.tip });
  for (const file of sent.filter((candidate) => !path.some((node) => isCopy(node, candidate)))) await copyFile(api, session.id, file);
}

/** True if the node has a copy of the file that was made after the file's last change. */
function isCopy(node: Node, { path, stat }: ContextPath): boolean {
  const hasCopy = node.parts.some(
    (part) => part.kind === "handle" && part.handle.identifier === path && part.handle.metadata.bytes === stat.size,
  );
  return hasCopy && stat.mtimeMs < node.at && stat.ctimeMs < node.at;
}

async function copyFile(api: Api, session: string, { path }: ContextPath): Promise<void> {
  const { policy } = configuredTurn(await api.config.values());
  const file = shellQuote(path);
  const command = `if [ -s ${file} ] && ! grep -qI '' ${file}; then echo 'it is not text' >&2; exit 1; fi; cat -- ${file}`;
  const copies = { source: "file", identifier: path, sentBytes: budgetBytes };
  for await (const event of api.turn.start({ ...bareTurn(session, policy), command, copies })) {
    if (event.type === "turn.ended" && event.turn.error !== null)
      throw new Fault("file-unreadable", `context: ${path} can't be read: ${event.turn.error.message}`);
  }
}
