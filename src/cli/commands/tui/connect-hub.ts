// The hub that a screen works through: the one of this machine, or one at an address. Turns then run there, and outlive
// the screen.
import { readFileSync } from "node:fs";
import { connect, type RemoteApi } from "../../../hub/api-client.ts";
import { connectHub, type HubLookup } from "../../../hub/find-hub.ts";
import { readHubFile } from "../../../hub/hub-file.ts";
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { CommandContext } from "../../parse/command.ts";

export type HubTarget = {
  /** `auto` is the one of this machine. */
  at: string;
  directory: string;
  trust: boolean | null;
};

/** One that does not run is started where that is asked for and can be done. */
export async function connectHubAt(ctx: CommandContext, { at, directory, trust }: HubTarget, how: { start: boolean }): Promise<Api> {
  const { state, home, selfCommand: self, version, env } = ctx;
  const caller = { directory, ...(trust === null ? {} : { trust }) };
  const seeker: HubLookup = { state, home, selfCommand: self, version, env };
  const remote = at === "auto" ? await connectHub(seeker, caller, how) : await overWeb(ctx, at, caller);
  if (remote.welcome.version === version) return remote.api;
  await remote.api.close();
  throw new Fault("hub-unreachable", `the hub is skein ${remote.welcome.version}, and this is ${version}`, {
    hint: "both must be the same: `skein hub stop`, then try again",
  });
}

export function checkHubTarget(at: string): void {
  if (at === "auto" || (/^wss?:\/\/[^/]/.test(at) && URL.canParse(at))) return;
  throw new Fault("usage", `--hub can't be "${at}"`, { hint: "auto, or an address like ws://127.0.0.1:4444" });
}

function overWeb(ctx: CommandContext, at: string, caller: { directory: string; trust?: boolean }): Promise<RemoteApi> {
  const file = readHubFile(ctx.state);
  const isOurs = file !== null && new URL(file.url).host === new URL(at).host;
  const token = ctx.env["SKEIN_HUB_TOKEN"] ?? (isOurs ? readFileSync(file.token_file, "utf8").trim() : null);
  if (token === null)
    throw new Fault("hub-unreachable", `nothing is known of a hub at ${at}`, {
      hint: "--hub auto is this machine's; the token of any other is SKEIN_HUB_TOKEN",
    });
  return connect({ url: at, token }, { client: `skein ${ctx.version}`, ...caller });
}
