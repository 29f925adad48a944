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
  const parts = values.map((value) => (value instanceof Sql ? value : new Sql("?", [value])));
  return new Sql(
    String.raw({ raw: strings }, ...parts.map(({ text }) => text)),
    parts.flatMap(({ params }) => params),
  );
}
