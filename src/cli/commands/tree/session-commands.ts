// The small commands on one session: use, rename, delete, restore. Each prints one line.
import { printableLabel } from "../../print/session-label.ts";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { sessionRecord } from "../../../protocol/json/records.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";

type SessionCommandResult = { record: unknown; text: string };
type SessionCommand = {
  name: string;
  summary: string;
  positionals: string[];
  act: (api: Api, session: Session, args: Args, ctx: CommandContext) => Promise<SessionCommandResult>;
};

export const use = sessionCommand({
  name: "use",
  summary: "make a session the current one, which --continue uses",
  positionals: ["session"],
  async act(api, session, _args, ctx) {
    await api.session.use({ session: session.id, directory: ctx.cwd });
    return { record: sessionRecord(session), text: `using ${printableLabel(session)}` };
  },
});

export const rename = sessionCommand({
  name: "rename",
  summary: "give a session another name",
  positionals: ["session", "name"],
  async act(api, session, args) {
    const renamed = await api.session.rename({ session: session.id, name: args.positionals[1] as string });
    return { record: sessionRecord(renamed), text: `${printableLabel(session)} is now ${printableLabel(renamed)}` };
  },
});

export const remove = sessionCommand({
  name: "delete",
  summary: "archive a session; restore brings it back",
  positionals: ["session"],
  async act(api, session) {
    const archived = await api.session.archive({ session: session.id });
    return {
      record: sessionRecord(archived),
      text: `archived ${printableLabel(session)}; skein restore ${shortId(session.id)} brings it back`,
    };
  },
});

export const restore = sessionCommand({
  name: "restore",
  summary: "bring an archived session back",
  positionals: ["session"],
  async act(api, session) {
    if (session.archivedAt === null) throw new Fault("usage", `${printableLabel(session)} is not archived`);
    const restored = await api.session.restore({ session: session.id });
    return { record: sessionRecord(restored), text: `restored ${printableLabel(restored)}` };
  },
});

function sessionCommand({ name, summary, positionals, act }: SessionCommand): Command {
  return {
    name,
    summary,
    usage: `${positionals.map((word) => `<${word}>`).join(" ")} [--json]`,
    positionals: { min: positionals.length, max: positionals.length },
    flags: [jsonFlag],
    async run(args, ctx) {
      const api = await ctx.api();
      const session = await findSession(api, ctx, args.positionals[0]);
      const { record, text } = await act(api, session, args, ctx);
      ctx.out.write(args.flags["json"] ? jsonText(record) : `${text}\n`);
      return 0;
    },
  };
}
