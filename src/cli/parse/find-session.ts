// The session and node that a command's arguments name; without a session, the project's current one.
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { CommandContext } from "./command.ts";

export async function findSession(api: Api, ctx: CommandContext, wanted: string | undefined): Promise<Session> {
  if (wanted !== undefined) return api.session.find({ wanted, directory: ctx.cwd });
  const current = await api.session.current({ directory: ctx.cwd });
  if (current !== null) return current;
  throw new Fault("session-unknown", "there is no session in this project yet", {
    hint: 'start one: skein run "task", or skein new <name>',
  });
}

/** A node of the session's tree. */
export async function findNode(api: Api, session: Session, wanted: string): Promise<Node> {
  const node = await api.node.find({ wanted });
  if (node.tree === session.tree) return node;
  throw new Fault("node-unknown", `node ${wanted} is not in the tree of this session`);
}
