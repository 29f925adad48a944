// Follows the call chains that ARCHITECTURE.md names: "`file` function, function → `file` function → ...". Each function
// must be defined in its file, and its name must occur in the body of the function before it. A call through a port or a
// connection is found the same way, by the name of the method.
export type CallChain = {
  title: string;
  /** `isIndirect`: reached through a table or a connection (`⇒`), so the caller does not name it. */
  calls: { file: string; name: string; isIndirect: boolean }[];
};

/** Chains are the lines below a `### title` that contain an arrow. The title ends with a number of files. */
export function callChains(document: string): CallChain[] {
  return document.split(/^#{2,3} /m).flatMap((section) => {
    const [title = "", ...lines] = section.split("\n");
    const text = lines.filter((line) => line.startsWith("`src/") || /^[→⇒] /.test(line)).join(" ");
    const calls = [...text.matchAll(/([→⇒]?) ?`(src\/[\w./-]+)` (\w+(?:, \w+)*)/g)].flatMap(([, arrow, file, names]) =>
      names!.split(", ").map((name, index) => ({ file: file!, name, isIndirect: index === 0 && arrow === "⇒" })),
    );
    return calls.length < 2 ? [] : [{ title, calls }];
  });
}

export function brokenCalls({ calls }: CallChain, textOf: (file: string) => string): string[] {
  const bodies = calls.map(({ file, name }) => definitionsOf(textOf(file), name));
  return calls.flatMap(({ file, name, isIndirect }, index) => {
    if (bodies[index]!.length === 0) return [`${file} does not define ${name}`];
    const caller = calls[index - 1];
    if (caller === undefined || isIndirect) return [];
    const isCalled = bodies[index - 1]!.some((body) => new RegExp(`\\b${name}\\b`).test(body));
    return isCalled ? [] : [`${caller.name} in ${caller.file} does not call ${name}`];
  });
}

/** The texts of all functions, methods and constants of that name, from the declaration to the line that closes it. */
function definitionsOf(text: string, name: string): string[] {
  const lines = text.split("\n");
  const declaration = new RegExp(
    `^( *)(?:(?:export |async |static |private )*(?:function\\*? |const |let |class |#|\\*)?)${name}(?:<[^>]*>)?(?: =|: |\\(| extends| implements| \\{)`,
  );
  return lines.flatMap((line, start) => {
    const indent = declaration.exec(line)?.[1];
    if (indent === undefined || /^ *(return|await) /.test(line)) return [];
    const length = lines
      .slice(start + 1)
      .findIndex((next) => next.trim() !== "" && !next.startsWith(`${indent} `) && !next.startsWith(`${indent})`));
    const closing = length < 0 ? lines.length : start + 1 + length + 1;
    return [lines.slice(start, closing).join("\n")];
  });
}
