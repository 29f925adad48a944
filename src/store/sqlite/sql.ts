// SQL as tagged templates. A value in a template becomes a parameter, never text of the statement.

export type SqlValue = string | number | null;

/** A statement, or a part of one, with the parameters in it. */
export class Sql {
  readonly text: string;
  readonly params: SqlValue[];

  constructor(text: string, params: SqlValue[] = []) {
    this.text = text;
    this.params = params;
  }
}

/** Joins a template. An `Sql` in it becomes a part of the statement. */
export function sql(strings: TemplateStringsArray, ...values: (SqlValue | Sql)[]): Sql {
  let text = strings[0]!;
  const params: SqlValue[] = [];
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? null;
    if (value instanceof Sql) params.push(...value.params);
    else params.push(value);
    text += (value instanceof Sql ? value.text : "?") + strings[index + 1]!;
  }
  return new Sql(text, params);
}
