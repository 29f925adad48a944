// Effects that show a text about the session or the setup: changed files and their writers, the next request, keys of vendors, MCP.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { pluralize } from "../../kit/text/cut-text.ts";
import type { McpServerInfo, VendorAuth } from "../../protocol/api/api.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { notByBranchText, writersText } from "../../protocol/tree/branch-stats.ts";
import { bad, faint, good, heading } from "../layout/styles.ts";
import { styled } from "../layout/wrap.ts";
import type { Effect } from "../model/state.ts";
import type { BoxLine } from "../overlays/box.ts";
import { fileWriterLines, maxBlamedLines } from "../overlays/file-writers.ts";
import { requireSession, type EffectContext, type EffectHandlers } from "./effect-context.ts";

type Topic = Extract<Effect, { type: "report" }>["topic"];

export const reportEffects: EffectHandlers<"report"> = {
  report: async (ctx, { topic }) => ctx.send({ type: "report", topic, lines: await reports[topic](ctx) }),
};

const reports: Record<Topic, (ctx: EffectContext) => Promise<BoxLine[]>> = {
  diff: diffLines,
  writers: writerLines,
  context: contextLines,
  login: async ({ api }) => loginLines(await api.auth.status()),
  mcp: async ({ api }) => mcpLines(await api.mcp.list()),
};

/** A longer patch would not be read on a screen. */
const maxPatchLines = 5000;

async function diffLines(ctx: EffectContext): Promise<BoxLine[]> {
  const { files, otherFiles, patch } = await ctx.api.branch.files({ session: requireSession(ctx).id });
  const changes = files ?? [];
  const patchLines = stripAnsi(patch).trimEnd().split("\n");
  const omitted =
    patchLines.length > maxPatchLines ? [`… ${patchLines.length - maxPatchLines} more lines; skein export --whole prints them`] : [];
  const others = otherFiles.map((file) => styled(`  ${stripAnsi(file.path)}  (${stripAnsi(writersText(file))})`, faint));
  return [
    files === null ? "the files of this branch were not recorded" : `${pluralize(changes.length, "file")} changed by this session`,
    ...changes.map(({ path, added, removed }) => `  ${stripAnsi(path)} +${added} -${removed}`),
    ...(others.length === 0 ? [] : [styled(notByBranchText, faint), ...others]),
    ...(patch === "" ? [] : ["", ...patchLines.slice(0, maxPatchLines).map(patchLine), ...omitted]),
  ];
}

/** The lines of more files are not read: each file takes a request. */
const maxBlamedFiles = 20;

/** The changed files at the tip of the session, with the writer of each line. */
async function writerLines(ctx: EffectContext): Promise<BoxLine[]> {
  const { api, project: directory } = ctx;
  const { id: session } = requireSession(ctx);
  const [{ files }, current] = await Promise.all([api.branch.files({ session }), api.session.show({ session })]);
  const at = current.session.tip;
  const paths = (files ?? []).filter(({ kind }) => kind !== "deleted").map(({ path }) => path);
  if (at === null || paths.length === 0) return ["this session changed no files that are still there"];
  const lines: BoxLine[] = [];
  for (const path of paths.slice(0, maxBlamedFiles))
    try {
      lines.push(...fileWriterLines(await api.files.blame({ path, directory, at, from: 1, to: maxBlamedLines })), "");
    } catch (error) {
      // A binary file has no lines. The other files are shown.
      lines.push(styled(stripAnsi(messageOf(error)), faint), "");
    }
  return paths.length > maxBlamedFiles ? [...lines, styled(`… ${paths.length - maxBlamedFiles} more files`, faint)] : lines.slice(0, -1);
}

function patchLine(line: string): BoxLine {
  if (/^(diff|index|---|\+\+\+|new file|deleted file|old mode|new mode) /.test(line)) return styled(line, { bold: true });
  if (line.startsWith("@@")) return styled(line, heading);
  if (line.startsWith("+")) return styled(line, good);
  return line.startsWith("-") ? styled(line, bad) : line;
}

async function contextLines(ctx: EffectContext): Promise<BoxLine[]> {
  const { model, tokens, system, tools, messages } = await ctx.api.context.render({ session: requireSession(ctx).id, node: null });
  const total = tokens.system + tokens.tools + tokens.messages;
  const parts = [{ role: "system", text: system, tokens: tokens.system }, ...messages];
  return [
    `${stripAnsi(model ?? "no model")}: about ${total} tokens (system ${tokens.system}, tools ${tokens.tools}, messages ${tokens.messages})`,
    styled(`tools: ${stripAnsi(tools.map(({ name }) => name).join(", ")) || "none"}`, faint),
    ...parts.flatMap((part): BoxLine[] => [
      "",
      styled(`${stripAnsi(part.role)} ~${part.tokens}`, { bold: true }),
      ...stripAnsi(part.text).trimEnd().split("\n"),
    ]),
  ];
}

function loginLines(vendors: readonly VendorAuth[]): BoxLine[] {
  const sorted = vendors.toSorted((a, b) => Number(b.ready) - Number(a.ready));
  return [
    "Keys come from environment variables. Agents with a CLI use its own sign-in.",
    "",
    ...sorted.flatMap(({ vendor, ready, source, hint, agents = [] }): BoxLine[] => [
      styled(`${ready ? "✓" : "✗"} ${stripAnsi(vendor)}: ${stripAnsi(ready ? (source ?? "no key needed") : hint)}`, ready ? good : {}),
      ...agents.map(({ agent, source: origin }) => styled(`  ✓ ${stripAnsi(agent)}: ${stripAnsi(origin)}`, good)),
    ]),
    "",
    "/agent hands over to an agent with its own sign-in.",
  ];
}

/** The servers of the native agent, and how other programs use skein. */
function mcpLines(servers: readonly McpServerInfo[]): BoxLine[] {
  const rows = servers.map(({ name, state, problem }) =>
    styled(`  ${stripAnsi(name)}: ${stripAnsi(problem ?? (state === "ready" ? "enabled" : state))}`, state === "ready" ? good : {}),
  );
  return [
    "The native agent uses the tools of these MCP servers:",
    "",
    ...(rows.length === 0 ? ["  none yet"] : rows),
    "",
    "  skein mcp add <name> -- <command>   adds one; or a URL without --",
    "  skein mcp try <name>                starts one and lists its tools",
    "",
    "skein is also an MCP server: other programs can use its sessions.",
    "",
    "  skein mcp install claude            adds it to Claude Code",
    "",
    "docs/MCP-SERVERS.md and docs/MCP.md have the rest.",
  ];
}
