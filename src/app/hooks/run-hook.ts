// Runs one hook: a program of the user outside of the sandbox, or a POST. Its time and its output are bounded.
import { Excerpt } from "../../kit/text/excerpt.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { envSecrets, redactor } from "../../kit/text/redact.ts";
import { runProcess } from "../../kit/process/run-process.ts";
import { findProgram, trustedEnvironment } from "../../kit/process/trusted-programs.ts";
import { environmentVariables } from "../../config/env.ts";
import { messageOf } from "../../protocol/api/error.ts";
import type { HookEvent } from "../../protocol/hooks/hook-event.ts";
import { type AppContext, programSearch } from "../app-context.ts";
import { hookRecord } from "./hook-record.ts";

export type HookRunner = {
  /** Resolves to null if the hook succeeded, else to the problem, which completes "the hook ...". */
  run: (event: HookEvent, target: string | readonly string[]) => Promise<string | null>;
};

type HookCall = { ctx: AppContext; body: string; redact: (text: string) => string; timeoutMs: number };

export function createHookRunner(ctx: AppContext): HookRunner {
  const { config, env, paths, providers } = ctx;
  const keys = Object.values(providers).flatMap(({ apiKey, headers }) => [apiKey ?? [], Object.values(headers ?? {})].flat());
  const agentSecrets = Object.values(config.values.agents).flatMap(({ env: variables }) => Object.values(variables));
  const redact = redactor({ home: paths.home, secrets: [...envSecrets(env), ...keys, ...agentSecrets] });
  const timeoutMs = config.values.hookTimeoutMs;
  return {
    run: (event, target) => {
      const body = JSON.stringify(hookRecord(event, { now: Date.now(), redact }));
      const call = { ctx, body, redact, timeoutMs };
      return typeof target === "string" && /^https?:\/\//i.test(target) ? post(target, call) : runCommand(target, call);
    },
  };
}

/** The answer is not read. A redirect is not followed: it could lead the record to another host. */
async function post(url: string, { body, timeoutMs }: HookCall): Promise<string | null> {
  // The rest of the URL may be a secret.
  const { origin } = new URL(url);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    return response.ok ? null : `failed: ${origin} answered ${response.status}`;
  } catch (error) {
    const isLate = error instanceof Error && error.name === "TimeoutError";
    return isLate ? `was ended after ${timeoutMs} ms: ${origin} did not answer` : `failed: ${origin} can't be reached`;
  }
}

const shell = ["/bin/sh", "-c"];
const killGraceMs = 200;

/** Runs in the home directory: the project is no place to look up anything. */
async function runCommand(target: string | readonly string[], { ctx, body, redact, timeoutMs }: HookCall): Promise<string | null> {
  const search = programSearch(ctx);
  const command = typeof target === "string" ? [...shell, target] : trustedCommand(target, ctx);
  if (typeof command === "string") return `failed: ${command}`;
  const output = new Excerpt(500, 500);
  const env = trustedEnvironment(ctx.env, search);
  for (const { name, group } of environmentVariables) if (group === "keys") delete env[name];
  try {
    const end = await runProcess({
      command,
      cwd: ctx.paths.home,
      env,
      stdin: body,
      timeoutMs,
      killGraceMs,
      signal: new AbortController().signal,
      onOutput: (chunk) => output.push(chunk),
    });
    if (end.timedOut) return `was ended after ${timeoutMs} ms`;
    if (end.exitCode === 0) return null;
    const how = end.exitCode === null ? `was killed by ${end.signal}` : `failed with exit code ${end.exitCode}`;
    const text = oneLine(redact(output.text().text), 200);
    return text === "" ? how : `${how}: ${text}`;
  } catch (error) {
    return `can't be started: ${oneLine(redact(messageOf(error)), 200)}`;
  }
}

/** The command with the path of its program, or the reason why it is not run. */
function trustedCommand([program = "", ...args]: readonly string[], ctx: AppContext): string[] | string {
  const { path, refused } = findProgram(program, programSearch(ctx));
  if (path !== null) return [path, ...args];
  return refused === null ? `there is no ${program} in PATH` : `${refused.path} is not run: ${refused.reason}`;
}
