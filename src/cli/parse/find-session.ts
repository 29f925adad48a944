// Finds the session and the node of a command's arguments. Without a session argument, the project's current session.
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { CommandContext } from "./command.ts";

export async function findSession(api: Api, ctx: CommandContext, query: string | undefined): Promise<Session> {
  if (query !== undefined) return api.session.find({ wanted: query, directory: ctx.cwd });
  const current = await api.session.current({ directory: ctx.cwd });
  if (current !== null) return current;
  throw new Fault("session-unknown", "there is no session in this project yet", {
    hint: 'start one: skein run "task", or skein new <name>',
  });
}

/** Throws if the node is not in the session's tree. */
export async function findNode(api: Api, session: Session, query: string): Promise<Node> {
  const node = await api.node.find({ wanted: query });
  if (node.tree === session.tree) return node;
  throw new Fault("node-unknown", `node ${query} is not in the tree of this session`);
}
