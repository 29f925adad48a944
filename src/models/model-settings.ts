// Settings of single models from the configuration. They take precedence over the price list and over defaults.

/** Dollars per million tokens. Null fields are those of the price list. */
export type ModelPrice = { input: number | null; output: number | null; cacheRead: number | null; cacheWrite: number | null };

export type ModelSettings = { temperature: number | null; maxOutputTokens: number | null; price: ModelPrice };

/** The keys are full names of models, without an effort. */
export type ModelSettingsTable = Readonly<Record<string, ModelSettings>>;

export function settingsFor(table: ModelSettingsTable, vendor: string, model: string): ModelSettings | null {
  const name = `${vendor}/${model}`;
  return Object.hasOwn(table, name) ? table[name]! : null;
}
