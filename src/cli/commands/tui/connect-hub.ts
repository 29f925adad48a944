// Connects a screen to the hub of this machine, or to one at an address. Turns then run in the hub and continue
// when the screen is closed.
import { readFileSync } from "node:fs";
import { connect, type RemoteApi } from "../../../hub/api-client.ts";
import { connectHub } from "../../../hub/find-hub.ts";
import { readHubFile } from "../../../hub/hub-file.ts";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { CommandContext } from "../../parse/command.ts";

export type HubTarget = {
  /** An address, or `auto` for the hub of this machine. */
  at: string;
  directory: string;
  trust: boolean | null;
};

/** With `start`, starts the hub of this machine if none is running. Throws if the hub has another version. */
export async function connectHubAt(ctx: CommandContext, { at, directory, trust }: HubTarget, options: { start: boolean }): Promise<Api> {
  const { version } = ctx;
  const caller = { directory, ...(trust === null ? {} : { trust }) };
  const remote = at === "auto" ? await connectHub(ctx, caller, options) : await connectToAddress(ctx, at, caller);
  if (remote.welcome.version === version) return remote.api;
  await remote.api.close();
  throw new Fault("hub-unreachable", `the hub is skein ${remote.welcome.version}, and this is ${version}`, {
    hint: "both must have the same version: `skein hub stop`, then try again",
  });
}

export function checkHubTarget(at: string): void {
  if (at === "auto" || (/^wss?:\/\/[^/]/.test(at) && URL.canParse(at))) return;
  throw new Fault("usage", `--hub can't be "${at}"`, { hint: "auto, or an address like ws://127.0.0.1:4444" });
}

function connectToAddress(ctx: CommandContext, at: string, caller: { directory: string; trust?: boolean }): Promise<RemoteApi> {
  const file = readHubFile(ctx.state);
  const isHubOfThisMachine = file !== null && new URL(file.url).host === new URL(at).host;
  const token = ctx.env["SKEIN_HUB_TOKEN"] ?? (isHubOfThisMachine ? readFileSync(file.token_file, "utf8").trim() : null);
  if (token === null)
    throw new Fault("hub-unreachable", `the token of the hub at ${at} is unknown`, {
      hint: "set SKEIN_HUB_TOKEN to its token, or use the hub of this machine: --hub auto",
    });
  return connect({ url: at, token }, { client: `skein ${ctx.version}`, ...caller });
}
