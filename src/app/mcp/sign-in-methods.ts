// `skein mcp login` and `logout`: the two halves of a sign-in to a server over HTTP, before and after the user's browser.
import { Fault } from "../../protocol/api/error.ts";
import type { Api } from "../../protocol/api/api.ts";
import { checkServer, type HttpServer } from "../../protocol/mcp/server-entry.ts";
import type { AppContext } from "../app-context.ts";
import { signInStore } from "./sign-in-store.ts";
import { configuredServers } from "./turn-servers.ts";
import { unknownServer } from "./try-server.ts";

export function createSignInMethods(ctx: AppContext): Pick<Api["mcp"], "startLogin" | "finishLogin" | "logout"> {
  return {
    async startLogin({ name, redirectUrl }) {
      const server = httpServerOf(ctx, name);
      const { startSignIn } = await import("../../mcp-client/sign-in.ts");
      return { url: await startSignIn(server, signInStore(ctx, server.url), redirectUrl) };
    },
    async finishLogin({ name, code, state }) {
      const server = httpServerOf(ctx, name);
      const { finishSignIn } = await import("../../mcp-client/sign-in.ts");
      await finishSignIn(server, signInStore(ctx, server.url), { code, state });
    },
    async logout({ name }) {
      const store = signInStore(ctx, httpServerOf(ctx, name).url);
      const wasSignedIn = store.read() !== null;
      store.write(null);
      return { wasSignedIn };
    },
  };
}

/** Throws for a server that can't be used, or has no URL. */
function httpServerOf(ctx: AppContext, name: string): HttpServer {
  const servers = configuredServers(ctx);
  const found = servers.find((candidate) => candidate.name === name);
  if (found === undefined)
    throw unknownServer(
      name,
      servers.map((candidate) => candidate.name),
    );
  if (!found.isTrusted)
    throw new Fault("config", `the MCP server ${name} can't be used: the project is not trusted`, {
      hint: "read the file, then run `skein trust`",
    });
  const server = checkServer(found.entry);
  if (typeof server === "string") throw new Fault("config", `the MCP server ${name} ${server}`);
  if (server.kind !== "http")
    throw new Fault("usage", `${name} is a program on stdio and has no sign-in`, { hint: "servers with a URL have one" });
  if (server.isOldSse)
    throw new Fault("usage", `${name} uses the transport sse, which has no sign-in here`, { hint: "give it a token in its headers" });
  return server;
}
