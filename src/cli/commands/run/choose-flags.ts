// `-m` and `-a` without a value: the user chooses a model or an agent from a list. Without a terminal the fault names the
// command that lists them.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { isInteractive, type Args, type CommandContext } from "../../parse/command.ts";
import { choose, type Choice } from "../../terminal/choose.ts";
import { stripControls } from "../../terminal/style.ts";

type ChosenFlag = "model" | "agent";

export async function chooseMissing(args: Args, ctx: CommandContext): Promise<Args> {
  const flags = { ...args.flags };
  for (const name of ["agent", "model"] as const) if (flags[name] === true) flags[name] = await chooseValue(name, ctx);
  return { ...args, flags };
}

async function chooseValue(name: ChosenFlag, ctx: CommandContext): Promise<string> {
  if (!isInteractive(ctx)) {
    const hint = `\`skein ${name}s\` lists the ${name}s`;
    throw new Fault("usage", `--${name} needs a value: --${name} <${name}>`, { hint });
  }
  const api = await ctx.api({ lenient: true });
  const choices = name === "model" ? await readyModels(api) : await readyAgents(api);
  // The command opens its own Api, with the chosen value.
  await api.close();
  if (choices.length === 0)
    throw new Fault("auth", `no ${name} is ready`, { hint: "`skein auth login` says for each vendor which key or sign-in it needs" });
  return choose(ctx, { title: `Which ${name}?`, choices, acceptsOther: true });
}

const maxModels = 20;

async function readyModels(api: Api): Promise<Choice[]> {
  const models = (await api.models.list()).filter(({ ready }) => ready);
  const toChoice = ({ name, aliases }: (typeof models)[number]) => ({ name, cells: [stripControls(name), aliases.join(", ")] });
  return models.slice(0, maxModels).map(toChoice);
}

async function readyAgents(api: Api): Promise<Choice[]> {
  const agents = await api.agents.list();
  return agents.filter(({ missing }) => missing === null).map(({ name }) => ({ name, cells: [stripControls(name)] }));
}
