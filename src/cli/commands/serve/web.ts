// skein web: opens the page for everything that runs. The hub serves it; this command only asks the hub for a login link.
import { connectToHubFile, findRunningHub, startHub } from "../../../hub/find-hub.ts";
import { absolutePath } from "../../../kit/files/absolute-path.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { refuseNesting } from "../../../protocol/api/nesting.ts";
import type { WebOpenedJson } from "../../../protocol/schema/printed.ts";
import { countFlag, jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { printReport } from "../report-command.ts";
import { openInBrowser } from "./open-browser.ts";

export const web: Command = {
  name: "web",
  summary: "open a page in the browser with everything that runs",
  usage: "[--port n] [--base-path path] [--host address --token-file file] [--origin url] [--no-open] [--json] | --stop",
  positionals: { min: 0, max: 0 },
  flags: [
    { name: "port", value: "n", summary: "use this port instead of a random one" },
    { name: "base-path", value: "path", summary: "the page's path behind a reverse proxy, such as /skein" },
    { name: "origin", value: "url", summary: "the address of the reverse proxy, such as https://dev.example" },
    { name: "host", value: "address", summary: "listen on this IP address instead of 127.0.0.1; needs --token-file" },
    { name: "token-file", value: "file", summary: "a file with a password for browsers that have no login link" },
    { name: "no-open", summary: "print the login link and open no browser" },
    { name: "stop", summary: "close the page and end all logins" },
    jsonFlag,
  ],
  notes: `The hub serves the page and is started if necessary. The link works once, for
5 minutes, and logs one browser in for 30 days. Run the command again for another
browser. The page stays open until \`skein web --stop\`; a new hub opens it again at
the same address. Turns that you start in the page get the environment of the last
\`skein web\`, keys included. docs/WEB.md has more.`,
  async run(args, ctx) {
    refuseNesting(ctx.enclosingSession());
    return args.flags["stop"] === true ? stop(args, ctx) : open(args, ctx);
  },
};

async function open(args: Args, ctx: CommandContext): Promise<number> {
  const params = parseFlags(args, ctx);
  const { file } = await startHub(ctx, { port: null, credentials: "kept" });
  const { api, call } = await connectToHubFile(ctx, file, { directory: ctx.cwd, env: ctx.env });
  try {
    const page = (await call("hub.open_page", params)) as Omit<WebOpenedJson, "pid">;
    // The page offers this directory for a new session. A fragment is never sent to a server.
    const loginUrl = `${page.login_url}&directory=${encodeURIComponent(ctx.cwd)}`;
    const isOpened =
      args.flags["no-open"] !== true && args.flags["json"] !== true && (await openInBrowser(loginUrl, ctx, "web-login.html"));
    return await printReport(args, ctx, {
      json: { ...page, login_url: loginUrl, pid: file.pid },
      text: () => `${loginUrl}\n`,
      remarks: (style) => style.dim(`${isOpened ? "opened in the browser; " : ""}the link works once, for 5 minutes\n`),
    });
  } finally {
    await api.close();
  }
}

async function stop(args: Args, ctx: CommandContext): Promise<number> {
  const misplaced = Object.keys(args.flags).find((flag) => !["stop", "json"].includes(flag));
  if (misplaced !== undefined) throw new Fault("usage", `--${misplaced} does not go with --stop`, { hint: usageLine(web) });
  const { file } = await startHubToStop(ctx);
  const { api, call } = await connectToHubFile(ctx, file);
  try {
    const { was_open: wasOpen } = (await call("hub.close_page", {})) as { was_open: boolean };
    const text = wasOpen ? "the page is closed, and all logins have ended\n" : "the page was not open\n";
    return await printReport(args, ctx, { json: { outcome: wasOpen ? "closed" : "not-open" }, text });
  } finally {
    await api.close();
  }
}

/** Without a hub no page is open. But only a hub can delete the setting with which the next hub would open the page again. */
async function startHubToStop(ctx: CommandContext) {
  const running = await findRunningHub(ctx);
  return running === null ? startHub(ctx, { port: null, credentials: "left out" }) : { file: running };
}

function parseFlags(args: Args, ctx: CommandContext): Record<string, unknown> {
  const text = (name: string) => (args.flags[name] === undefined ? undefined : String(args.flags[name]));
  const port = countFlag(args, "port", null, 65_535);
  const basePath = text("base-path")?.replace(/\/+$/, "");
  const tokenFile = text("token-file");
  const params = {
    ...(port !== null && { port }),
    ...(basePath !== undefined && { base_path: basePath.startsWith("/") || basePath === "" ? basePath : `/${basePath}` }),
    ...(tokenFile !== undefined && { token_file: absolutePath(tokenFile, ctx) }),
  };
  return { ...params, ...definedOnly({ host: text("host"), origin: text("origin")?.replace(/\/+$/, "") }) };
}

function definedOnly(fields: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
