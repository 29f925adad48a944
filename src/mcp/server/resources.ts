// The MCP resources: the project's sessions as text, single nodes, and the full content of handles.
import { cutText, oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { nodeRecord } from "../../protocol/json/records.ts";
import { sessionIdentifier } from "../../protocol/tree/turn.ts";
import { readSessionLog, nodeLines } from "../turn/session-log.ts";
import type { CallContext } from "../tools/tool.ts";

type ResourceContent = { mimeType: string; text: string };
type ResourceKind = {
  template: string;
  name: string;
  description: string;
  /** `name` is the value of the template's variable. */
  read: (name: string, ctx: CallContext) => Promise<ResourceContent>;
};

const maxBytes = 1_000_000;
const maxListed = 50;

export const resourceKinds: readonly ResourceKind[] = [
  {
    template: "skein://session/{session}/log",
    name: "log",
    description: "Everything that happened in a session so far",
    read: async (name, { api, directory }) => {
      const log = await readSessionLog(api, await api.session.find({ wanted: name, directory }), 0);
      return { mimeType: "text/plain", text: [`[${log.state}, seq ${log.seq}]`, ...log.lines].join("\n") };
    },
  },
  {
    template: "skein://session/{session}",
    name: "session",
    description: "The conversation of a session, by name or id",
    read: async (name, { api, directory }) => {
      const { tip } = await api.session.find({ wanted: name, directory });
      const path = tip === null ? [] : await api.node.path({ node: tip });
      return { mimeType: "text/plain", text: path.flatMap(nodeLines).join("\n") };
    },
  },
  {
    template: "skein://node/{node}",
    name: "node",
    description: "One node of a session's tree",
    read: async (id, { api }) => ({
      mimeType: "application/json",
      text: JSON.stringify(nodeRecord(await api.node.find({ wanted: id })), null, 2),
    }),
  },
  {
    template: "skein://handle/{handle}",
    name: "handle",
    description: "The full content of a handle; slashes in its identifier are written %2F",
    read: async (identifier, { api }) => {
      const { content } = await api.handle.resolve({ identifier, maxBytes, as: "text" });
      return { mimeType: "text/plain", text: content };
    },
  },
];

/** Lists only the latest sessions; a client reads others by template. */
export async function listResources({ api, project }: CallContext) {
  const sessions = await api.session.list({ project, limit: maxListed });
  return sessions.map((session) => ({
    uri: `skein://session/${encodeURIComponent(session.id)}`,
    name: sessionIdentifier(session),
    mimeType: "text/plain",
    ...(session.task === null ? {} : { description: oneLine(session.task, 120) }),
  }));
}

/** Null if there is no such resource. */
export async function readResource(uri: string, ctx: CallContext): Promise<(ResourceContent & { uri: string }) | null> {
  const nameIn = ({ template }: ResourceKind) => RegExp(`^${template.replace(/{\w+}/, "([^/]+)")}$`).exec(uri)?.[1];
  const kind = resourceKinds.find((candidate) => nameIn(candidate) !== undefined);
  const name = kind === undefined ? null : decode(nameIn(kind)!);
  if (kind === undefined || name === null) return null;
  try {
    const { mimeType, text } = await kind.read(name, ctx);
    return { uri, mimeType, text: cutText(text, maxBytes, { keep: "both" }).text };
  } catch (error) {
    if (error instanceof Fault && ["session-unknown", "node-unknown", "file-unreadable"].includes(error.code)) return null;
    throw error;
  }
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null; // The URI has a lone percent sign.
  }
}
