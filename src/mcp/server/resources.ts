// What clients can read besides calling tools: the project's sessions as text, live or as they were, single nodes, and
// the whole data behind handles.
import { cutText, oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { nodeRecord } from "../../protocol/json/records.ts";
import { readSessionLog, nodeLines } from "../turn/session-log.ts";
import { sessionIdentifier } from "../turn/session-identifier.ts";
import type { CallContext } from "../tools/tool.ts";

type Read = { mimeType: string; text: string };
type Kind = {
  template: string;
  name: string;
  description: string;
  /** The parts of the path that a template leaves open. */
  path: RegExp;
  read: (wanted: string, ctx: CallContext) => Promise<Read>;
};

const mostBytes = 1_000_000;
const listed = 50;

export const resourceKinds: readonly Kind[] = [
  {
    template: "skein://session/{session}/log",
    name: "log",
    description: "What happens in a session, up to this moment",
    path: /^session\/([^/]+)\/log$/,
    read: async (wanted, { api, directory }) => {
      const log = await readSessionLog(api, await api.session.find({ wanted, directory }), 0);
      return { mimeType: "text/plain", text: [`[${log.state}, seq ${log.seq}]`, ...log.lines].join("\n") };
    },
  },
  {
    template: "skein://session/{session}",
    name: "session",
    description: "The conversation of a session, by name or id",
    path: /^session\/([^/]+)$/,
    read: async (wanted, { api, directory }) => {
      const { tip } = await api.session.find({ wanted, directory });
      const path = tip === null ? [] : await api.node.path({ node: tip });
      return { mimeType: "text/plain", text: path.flatMap(nodeLines).join("\n") };
    },
  },
  {
    template: "skein://node/{node}",
    name: "node",
    description: "One node of a session's tree",
    path: /^node\/([^/]+)$/,
    read: async (wanted, { api }) => ({
      mimeType: "application/json",
      text: JSON.stringify(nodeRecord(await api.node.find({ wanted })), null, 2),
    }),
  },
  {
    template: "skein://handle/{handle}",
    name: "handle",
    description: "The whole data behind a handle; slashes in its identifier are written %2F",
    path: /^handle\/([^/]+)$/,
    read: async (identifier, { api }) => {
      const { content } = await api.handle.resolve({ identifier, maxBytes: mostBytes, as: "text" });
      return { mimeType: "text/plain", text: content };
    },
  },
];

/** The latest sessions; the rest is found by template. */
export async function listResources({ api, project }: CallContext) {
  const sessions = await api.session.list({ project, limit: listed });
  return sessions.map((session) => ({
    uri: `skein://session/${encodeURIComponent(session.id)}`,
    name: sessionIdentifier(session),
    mimeType: "text/plain",
    ...(session.task === null ? {} : { description: oneLine(session.task, 120) }),
  }));
}

/** Null when there is no such thing. */
export async function readResource(uri: string, ctx: CallContext): Promise<(Read & { uri: string }) | null> {
  const path = uri.startsWith("skein://") ? uri.slice("skein://".length) : "";
  const kind = resourceKinds.find((candidate) => candidate.path.test(path));
  const wanted = kind === undefined ? null : decoded(kind.path.exec(path)?.[1] ?? "");
  if (kind === undefined || wanted === null) return null;
  try {
    const { mimeType, text } = await kind.read(wanted, ctx);
    return { uri, mimeType, text: cutText(text, mostBytes, { keep: "both" }).text };
  } catch (error) {
    if (error instanceof Fault && ["session-unknown", "node-unknown", "file-unreadable"].includes(error.code)) return null;
    throw error;
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // a lone percent sign names nothing
  }
}
