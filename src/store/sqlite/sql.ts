// SQL as tagged templates. A value in a template becomes a parameter, never text of the statement.

export type SqlValue = string | number | boolean | null;

/** A statement or a fragment of one, with its parameters. */
export class Sql {
  readonly text: string;
  readonly params: SqlValue[];

  constructor(text: string, params: SqlValue[] = []) {
    this.text = text;
    this.params = params;
  }
}

/** The texts of templates, as they are without fragments. A statement that was built anew would be hashed again at each use. */
const texts = new WeakMap<TemplateStringsArray, string>();

/** Joins a template to a statement. An `Sql` value is inserted as text, any other value becomes a parameter. */
export function sql(strings: TemplateStringsArray, ...values: (SqlValue | Sql)[]): Sql {
  const hasFragment = values.some((value) => value instanceof Sql);
  const known = hasFragment ? undefined : texts.get(strings);
  if (known !== undefined) return new Sql(known, values as SqlValue[]);
  let text = strings[0]!;
  const params: SqlValue[] = [];
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? null;
    if (value instanceof Sql) params.push(...value.params);
    else params.push(value);
    text += (value instanceof Sql ? value.text : "?") + strings[index + 1]!;
  }
  if (!hasFragment) texts.set(strings, text);
  return new Sql(text, params);
}
