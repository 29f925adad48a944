// Derives the row type, the insert and the reading of a record from one list of its columns.
// Must not read or write the database itself.
import { Sql, type SqlValue } from "../sql.ts";

export type Column = {
  column: string;
  /** Stored as JSON text. */
  isJson?: true;
  /** The field is missing, not null, where the column is null. */
  isOptional?: true;
};

export type Columns<Field extends PropertyKey> = { readonly [F in Field]: Column };

/** The row that `select *` returns for these columns. */
export type RowOf<Entity, C extends Columns<keyof C>> = {
  [F in keyof C & keyof Entity as C[F]["column"]]: C[F] extends { isJson: true }
    ? string | null
    : C[F] extends { isOptional: true }
      ? Exclude<Entity[F], undefined> | null
      : Entity[F];
};

type ColumnList = readonly (readonly [field: string, column: Column])[];
const columnLists = new WeakMap<object, ColumnList>();

/** The columns as a list, made once: a long session has thousands of rows. */
function listOf(columns: object): ColumnList {
  const list = columnLists.get(columns) ?? Object.entries<Column>(columns as Columns<string>);
  columnLists.set(columns, list);
  return list;
}

/** The fields of a row, with JSON parsed. */
export function readFields<Entity, C extends Columns<keyof C>>(columns: C, row: RowOf<Entity, C>): Pick<Entity, keyof C & keyof Entity> {
  const stored = row as Record<string, unknown>;
  const fields: Record<string, unknown> = {};
  const list = listOf(columns);
  for (let index = 0; index < list.length; index += 1) {
    const [field, { column, isJson, isOptional }] = list[index]!;
    const value = stored[column];
    if (value === null && isOptional) continue;
    fields[field] = isJson && typeof value === "string" ? JSON.parse(value) : value;
  }
  return fields as Pick<Entity, keyof C & keyof Entity>;
}

/** Values by column. Fields that are undefined or have no column are left out. */
export function toColumns<C extends Columns<keyof C>>(columns: C, fields: { [F in keyof C]?: unknown } & object): Record<string, SqlValue> {
  const values: Record<string, SqlValue> = {};
  for (const [field, { column, isJson }] of Object.entries<Column>(columns)) {
    const value = (fields as Record<string, unknown>)[field];
    if (value !== undefined) values[column] = isJson && value !== null ? JSON.stringify(value) : (value as SqlValue);
  }
  return values;
}

/** `(a, b) values (?, ?)` for `insert into`. */
export function columnsAndValues(values: Record<string, SqlValue>): Sql {
  const names = Object.keys(values);
  return new Sql(`(${names.join(", ")}) values (${names.map(() => "?").join(", ")})`, Object.values(values));
}

/** `a = ?, b = ?` for `update ... set`. */
export function assignments(values: Record<string, SqlValue>): Sql {
  const names = Object.keys(values);
  return new Sql(names.map((name) => `${name} = ?`).join(", "), Object.values(values));
}
