// What a tool call is about, in one string: the argument that a person would look at first.

export function mainArgument(input: Record<string, unknown>): string {
  const main = input["command"] ?? input["path"] ?? input["task"];
  return typeof main === "string" ? main : JSON.stringify(input);
}
