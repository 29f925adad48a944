// skein fork: starts a branch of a session, which becomes the project's current session.
import { shellQuote } from "../../../kit/text/shell-quote.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { homeProject } from "../../../protocol/tree/turn.ts";
import { printableLabel } from "../../print/session-label.ts";
import { stripControls } from "../../terminal/style.ts";
import { worktreeFlags, worktreeRequest } from "../run/worktree-flags.ts";
import { sessionReport } from "../report-command.ts";

export const fork = sessionReport({
  name: "fork",
  summary: "branch a session: try something else, and keep the old branch",
  usage: "[session] [--at node] [--name name] [-w [name]] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "at", value: "node", summary: "branch at this node (default: the end of the session)" },
    { name: "name", value: "name", summary: "the name of the new session" },
    ...worktreeFlags,
  ],
  notes: `Without a session it branches the project's current one. The new session becomes the
current one, unless it belongs to another project; the old one keeps its tip. Files stay as they are: \`skein files restore
<node>\` changes them. With -w the new session works in a worktree that starts with the files of that node.
\`skein run "task" --fork -c\` forks and sends a task at once.`,
  async report({ api, session, args, ctx }) {
    const at = args.flags["at"] === undefined ? null : (await api.node.find({ wanted: args.flags["at"] as string })).id;
    const name = (args.flags["name"] as string | undefined) ?? null;
    const forked = await api.session.fork({ session: session.id, at, name, worktree: worktreeRequest(args) });
    const isHere = homeProject(forked) === ctx.project;
    if (isHere) await api.session.use({ session: forked.id, directory: ctx.cwd });
    const currentText = isHere ? "which is now the current session" : `in its own project ${stripControls(homeProject(forked))}`;
    // A name is looked up in its own project first, so the name of a session of another project can mean another session here.
    const isNamedHere = session.name !== null && homeProject(session) === ctx.project;
    const isNewWorktree = forked.worktree !== undefined && forked.worktree.name !== session.worktree?.name;
    return {
      json: forked,
      text: `forked ${printableLabel(session)} as ${printableLabel(forked)}, ${currentText}\n`,
      remarks: (style) =>
        style.dim(
          (isNewWorktree ? `it works in worktree ${forked.worktree?.name}: ${stripControls(forked.directory)}\n` : "") +
            (isHere
              ? `back to the old one: skein use ${isNamedHere ? shellQuote(stripControls(session.name!)) : shortId(session.id)}\n`
              : `continue it: skein run --session ${shortId(forked.id)} "..."\n`),
        ),
    };
  },
});
