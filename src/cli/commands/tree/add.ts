// skein add: adds a message without starting a turn, or a copy of a file, a page, a query result or a conclusion.
// The executor reads paths, URLs and queries under the session's policy; skein itself never does.
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { shellQuote } from "../../../kit/text/shell-quote.ts";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { bareTurn } from "../../../protocol/api/turn-options.ts";
import { shortId, type Node } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { printableLabel } from "../../print/session-label.ts";
import { reportCommand } from "../report-command.ts";
import { isOffline, namedHosts } from "../../../protocol/api/policy.ts";
import { policyFlags, resolvePolicy, readPolicyFlags, type PolicyFlagValues } from "../run/policy-flags.ts";

type Source = { name: string; value: string; summary: string; needsNetwork: boolean; command: (identifier: string) => string };

const sources: readonly Source[] = [
  { name: "file", value: "path", summary: "add a copy of a file", needsNetwork: false, command: (path) => `cat -- ${shellQuote(path)}` },
  {
    name: "http",
    value: "url",
    summary: "add a copy of the response of a URL",
    needsNetwork: true,
    command: (url) => `curl -fsSL --max-time 60 -- ${shellQuote(url)}`,
  },
  {
    name: "postgres",
    value: "query",
    summary: "add the current result of a read-only query",
    needsNetwork: true,
    command: (query) => `PGOPTIONS='-c default_transaction_read_only=on' psql -X -w --csv -v ON_ERROR_STOP=1 -c ${shellQuote(query)}`,
  },
];

export const add = reportCommand({
  name: "add",
  summary: "add a message, or a copy of a file, page or query, for the next turn",
  usage: '<session> ["message"] [flags]',
  positionals: { min: 1, max: 2 },
  flags: [
    ...sources.map(({ name, value, summary }) => ({ name, value, summary })),
    { name: "from", value: "session", summary: "add the conclusion of another session" },
    ...policyFlags,
  ],
  notes: `The next turn of the session gets the message or the copy. The whole copy is stored, so that a replay shows the same data. --http and --postgres need the network: add --net on.
--postgres uses psql; name the PG* variables it needs in the config key tool_env.`,
  async report(args, ctx) {
    const [query, message] = args.positionals;
    const sourceFlags = [...sources.map((source) => source.name), "from"].filter((name) => args.flags[name] !== undefined);
    if (sourceFlags.length + (message === undefined ? 0 : 1) !== 1)
      throw new Fault("usage", "add takes exactly one of a message, --file, --http, --postgres or --from", {
        hint: `skein add ${shellQuote(query ?? "")} "message", or skein add ${shellQuote(query ?? "")} --file path`,
      });
    const policyValues = readPolicyFlags(args, ctx);
    const api = await ctx.api();
    const session = await findSession(api, ctx, query);
    const node =
      message === undefined
        ? await addFrom({ api, ctx, session }, args, policyValues)
        : await api.node.add({ session: session.id, text: message });
    return { json: node, text: `added ${shortId(node.id)} to ${printableLabel(session)}\n` };
  },
});

type AddTarget = { api: Api; ctx: CommandContext; session: Session };

async function addFrom({ api, ctx, session }: AddTarget, args: Args, policyValues: PolicyFlagValues): Promise<Node> {
  const from = args.flags["from"];
  if (typeof from === "string") return api.node.addSession({ session: session.id, from: (await findSession(api, ctx, from)).id });
  const source = sources.find((candidate) => args.flags[candidate.name] !== undefined) as Source;
  const value = args.flags[source.name] as string;
  const identifier = source.name === "file" ? absolutePath(value, ctx) : value;
  const policy = resolvePolicy(policyValues, await api.config.values(), "minimal");
  // The proxy to named hosts carries HTTP only.
  const isReachable = !isOffline(policy) || (source.name === "http" && namedHosts(policy).length > 0);
  if (source.needsNetwork && !isReachable)
    throw new Fault("usage", `the network is off, and --${source.name} needs it`, { hint: "add --net on" });
  const copies = { source: source.name, identifier };
  let node: Node | null = null;
  for await (const event of api.turn.start({ ...bareTurn(session.id, policy), command: source.command(identifier), copies })) {
    if (event.type === "node.added") node = event.node;
    if (event.type === "turn.ended" && event.turn.error !== null) throw new Fault("file-unreadable", event.turn.error.message);
  }
  if (node === null) throw new Fault("internal", "nothing was added");
  return node;
}
