// skein mcp login and logout: signs in to an MCP server in the user's browser. The browser's answer comes back to a port of this
// machine that is open for this one sign-in.
import { isSameToken } from "../../../kit/flow/loopback.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Api } from "../../../protocol/api/api.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { stripControls } from "../../terminal/style.ts";
import type { Report } from "../report-command.ts";
import { openInBrowser } from "./open-browser.ts";

const answerPath = "/callback";
const waitMs = 10 * 60_000;

export async function login(api: Api, args: Args, ctx: CommandContext): Promise<Report> {
  const name = args.positionals[1] as string;
  const answered = Promise.withResolvers<URLSearchParams>();
  // Other users and pages can reach the port. Only the browser's answer has the state of this sign-in.
  let state: string | null = null;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== answerPath) return new Response("not found\n", { status: 404 });
      if (state === null || !isSameToken(searchParams.get("state") ?? "", state))
        return new Response("this is not the answer to the sign-in that was started here\n", { status: 403 });
      answered.resolve(searchParams);
      return new Response("skein has the answer. You can close this page.\n", { headers: { "content-type": "text/plain" } });
    },
  });
  const timer = setTimeout(() => answered.reject(new Fault("auth", "no answer of the browser within 10 minutes")), waitMs);
  ctx.onStop(() => answered.reject(new Fault("auth", "the sign-in was stopped")));
  try {
    const { url } = await api.mcp.startLogin({ name, redirectUrl: `http://127.0.0.1:${server.port}${answerPath}` });
    state = new URL(url).searchParams.get("state");
    const isOpen = await openInBrowser(url, ctx, "mcp-login.html");
    ctx.err.write(`${isOpen ? "your browser opens" : "open in a browser"}: ${stripControls(url)}\n`);
    const params = await answered.promise;
    const code = params.get("code");
    if (code === null)
      throw new Fault("auth", `the server refused the sign-in: ${stripControls(params.get("error") ?? "no code")}`.slice(0, 300));
    await api.mcp.finishLogin({ name, code, state: state ?? "" });
  } catch (error) {
    // A refused sign-in leaves nothing. The first error is the one to report.
    await api.mcp.logout({ name }).catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
    await server.stop();
  }
  return {
    json: { name, signed_in: true },
    text: () => `signed in to ${name}\n`,
    remarks: (style) => style.dim(`try it: skein mcp try ${name}\n`),
  };
}

export async function logout(api: Api, args: Args): Promise<Report> {
  const name = args.positionals[1] as string;
  const { wasSignedIn } = await api.mcp.logout({ name });
  const text = wasSignedIn ? `signed out of ${name}; its tokens are deleted here\n` : `there is no sign-in to ${name}\n`;
  return { json: { name, signed_in: false }, text: () => text };
}
