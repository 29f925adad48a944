// Prints docs/CONFIG.md: the prose of config.md with the tables of keys and variables.
import { environmentVariables, type EnvGroup } from "../../src/config/env.ts";
import { configKeys, type ConfigKey } from "../../src/config/keys.ts";
import { trustSources } from "../../src/config/trust.ts";
import { expectedText } from "../../src/config/check-value.ts";
import { fillTemplate, markdownTable } from "./template.ts";

export function printConfigDocs(): string {
  const groups = [...new Set(environmentVariables.map(({ group }) => group))];
  return fillTemplate("config", {
    keys: markdownTable(["key", "value", "default", "variable", "untrusted project", "effect"], configKeys.map(keyCells)),
    variables: groups.map(variableTable).join("\n\n"),
    trust: trustSources.map((source) => `- \`${source}\``).join("\n"),
  });
}

const projectRights = { yes: "may set it", narrow: "may narrow it", never: "ignored, also with trust" };

function keyCells(key: ConfigKey): string[] {
  const value = key.type === "choice" ? (key.choices ?? []).map((choice) => `\`${choice}\``).join(", ") : expectedText(key);
  const variable = key.env ? `\`${key.env}\`` : "";
  return [`\`${key.key.replace("*", "<name>")}\``, value, defaultText(key), variable, key.project ? projectRights[key.project] : "ignored", key.description];
}

function defaultText({ type, default: value }: ConfigKey): string {
  // The default of a duration is in ms, a number in the file is seconds.
  if (type === "duration" && typeof value === "number") return `\`${value / 1000}\``;
  const isEmpty = value === null || (Array.isArray(value) && value.length === 0);
  return isEmpty ? "" : `\`${JSON.stringify(value).replaceAll('"', "")}\``;
}

function variableTable(group: EnvGroup): string {
  const variables = environmentVariables.filter((variable) => variable.group === group);
  const title = `### ${group[0]?.toUpperCase()}${group.slice(1)}`;
  return `${title}\n\n${markdownTable(
    ["variable", "effect"],
    variables.map(({ name, description }) => [`\`${name}\``, description]),
  )}`;
}
