// skein trust: lets a project's own files extend skein's permissions, until one of them changes.
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { usageLine } from "../../parse/args.ts";
import type { Command } from "../../parse/command.ts";
import { stripControls } from "../../terminal/style.ts";
import { reportCommand } from "../report-command.ts";
import { statOrNull } from "../run/flag-value.ts";

export const trust: Command = reportCommand({
  name: "trust",
  summary: "accept a project's config, roles and agents as they are now",
  usage: "[directory] [--show | --revoke] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "show", summary: "only show whether the project is trusted" },
    { name: "revoke", summary: "revoke the trust" },
  ],
  notes: `The config of an untrusted project may only restrict permissions. Its base URLs,
keys, commands, wider policies, network and write paths are ignored. Any change to these files
revokes the trust.`,
  async report({ positionals: [path], flags }, ctx) {
    if (flags["show"] && flags["revoke"]) throw new Fault("usage", "--show and --revoke exclude each other", { hint: usageLine(trust) });
    const directory = path === undefined ? ctx.project : absolutePath(path, ctx);
    if (path !== undefined && !statOrNull(directory)?.isDirectory()) throw new Fault("usage", `there is no directory ${directory}`);
    const api = await ctx.api();
    const method = flags["show"] ? api.trust.show : flags["revoke"] ? api.trust.revoke : api.trust.grant;
    const state = await method({ directory });
    const label = stripControls(state.directory);
    return {
      json: state,
      text(style) {
        if (state.files.length === 0) return `${label}: nothing in this project needs trust\n`;
        const reason = state.reason === undefined ? "" : ` (${stripControls(state.reason)})`;
        const verdict = state.trusted ? style.green("trusted") : `${style.yellow("not trusted")}${reason}`;
        return `${label} is ${verdict}\n${state.files.map((file) => `  ${stripControls(file)}\n`).join("")}`;
      },
    };
  },
});
