// Rewrites hints for the screen. The engine writes hints for a command line; on the screen a slash command does the same.

/** Flags and commands of a command line, and the slash commands for them. The first match of each is replaced. */
const replacements: readonly [pattern: RegExp, text: string][] = [
  [/`skein run --resume[^`]*`|skein run --resume \S+( "[^"]*")?|(?<!skein run )--resume\b( <\w+>)?/, "/continue"],
  [/\bwith -a or -m\b/, "with /agent or /model"],
  [/(?<=^|\s)-a\b( [a-z]+)?(?=$|[\s;,)])/, "/agent"],
  [/(?<=^|\s)-m\b( \S+\/\S+)?(?=$|[\s;,)])/, "/model"],
  [/\braise --timeout\b/, "start skein with a longer --timeout"],
  [/--max-budget-usd\b/, "/budget"],
  [/--net on\b/, "/net on"],
  [/--policy (\w+)/, "/policy $1"],
  [/`skein list`|\bskein list\b/, "/resume"],
  [/`skein show`/, "/tree"],
  [/skein answer \S+ "…"|`skein asks`/, "/asks"],
  [/`skein models`/, "/model"],
  [/`skein agents`/, "/agent"],
  [/`skein auth( status| login)?`/, "/login"],
];

export function screenHint(hint: string | null): string | null {
  return hint === null ? null : replacements.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), hint);
}
