// skein add: a message that no agent takes up yet, or a copy of a file, a page, a query's answer or a session's
// conclusion. Paths, URLs and queries are read by the executor under the session's policy, never by skein itself.
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Handle } from "../../../protocol/tree/handle.ts";
import { shortId, type Node } from "../../../protocol/tree/node.ts";
import type { Policy } from "../../../protocol/api/policy.ts";
import { nodeRecord } from "../../../protocol/json/records.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { jsonFlag } from "../../parse/args.ts";
import { commandTurn } from "../run/command-turn.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { policyFlags, resolvePolicy, readPolicyFlags, type PolicyFlagValues } from "../run/policy-flags.ts";
import { stripControls } from "../../terminal/style.ts";

type Source = { name: string; value: string; summary: string; needsNetwork: boolean; command: (identifier: string) => string };

const sources: readonly Source[] = [
  { name: "file", value: "path", summary: "a copy of a file", needsNetwork: false, command: (path) => `cat -- ${quoted(path)}` },
  {
    name: "http",
    value: "url",
    summary: "a copy of what a URL answers",
    needsNetwork: true,
    command: (url) => `curl -fsSL --max-time 60 -- ${quoted(url)}`,
  },
  {
    name: "postgres",
    value: "query",
    summary: "what a read-only query answers now",
    needsNetwork: true,
    command: (query) => `PGOPTIONS='-c default_transaction_read_only=on' psql -X -w --csv -v ON_ERROR_STOP=1 -c ${quoted(query)}`,
  },
];

export const add: Command = {
  name: "add",
  summary: "add a message, or a copy of a file, page or query, for the next turn",
  usage: '<session> ["message"] [flags]',
  positionals: { min: 1, max: 2 },
  flags: [
    ...sources.map(({ name, value, summary }) => ({ name, value, summary })),
    { name: "from", value: "session", summary: "the conclusion of another session" },
    ...policyFlags,
    jsonFlag,
  ],
  notes: `The next turn of the session is sent it. A copy is kept whole, so that a replay shows what was there.
--http and --postgres need the network: add --net on.
--postgres uses psql; name the PG* variables it needs in the config key tool_env.`,
  run: runAdd,
};

async function runAdd(args: Args, ctx: CommandContext): Promise<number> {
  const [wanted, message] = args.positionals;
  const given = [...sources.map((source) => source.name), "from"].filter((name) => args.flags[name] !== undefined);
  if (given.length + (message === undefined ? 0 : 1) !== 1)
    throw new Fault("usage", "add takes one thing: a message, --file, --http, --postgres or --from");
  const wish = readPolicyFlags(args, ctx);
  const api = await ctx.api();
  const session = await findSession(api, ctx, wanted);
  const node = await addOne(api, ctx, session, message ?? null, args, wish);
  ctx.out.write(
    args.flags["json"]
      ? jsonText(nodeRecord(node))
      : `added ${shortId(node.id)} to ${stripControls(session.name ?? shortId(session.id))}\n`,
  );
  return 0;
}

async function addOne(
  api: Api,
  ctx: CommandContext,
  session: Session,
  message: string | null,
  args: Args,
  wish: PolicyFlagValues,
): Promise<Node> {
  if (message !== null) return api.node.add({ session: session.id, text: message });
  const from = args.flags["from"];
  if (typeof from === "string") return api.node.addSession({ session: session.id, from: (await findSession(api, ctx, from)).id });
  const source = sources.find((candidate) => args.flags[candidate.name] !== undefined) as Source;
  const value = args.flags[source.name] as string;
  const identifier = source.name === "file" ? absolutePath(value, { cwd: ctx.cwd, home: ctx.home }) : value;
  const policy = resolvePolicy(wish, await api.config.values(), "minimal");
  if (policy.net === "off" && source.needsNetwork)
    throw new Fault("usage", `the network is off, and --${source.name} needs it`, { hint: "add --net on" });
  return copy(api, session, source, identifier, policy);
}

async function copy(api: Api, session: Session, source: Source, identifier: string, policy: Policy): Promise<Node> {
  const copies: Pick<Handle, "source" | "identifier"> = { source: source.name, identifier };
  let added: Node | null = null;
  for await (const event of api.turn.start({ ...commandTurn(session.id, source.command(identifier), policy), copies })) {
    if (event.type === "node.added") added = event.node;
    if (event.type === "turn.ended" && event.turn.error !== null) throw new Fault("file-unreadable", event.turn.error.message);
  }
  if (added === null) throw new Fault("internal", "nothing was added");
  return added;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
