// A table of figures. On a phone each row becomes a small card: the names of its columns stand before its cells.
import type { ComponentChildren } from "preact";

export type Column = { title: string; align?: "right" };

type DataTableProps = {
  label: string;
  columns: readonly Column[];
  rows: readonly { key: string; cells: readonly ComponentChildren[] }[];
};

export function DataTable({ label, columns, rows }: DataTableProps) {
  return (
    <div class="table data" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, align }) => (
              <th key={title} scope="col" class={align ?? ""}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, index) => (
                <td key={columns[index]!.title} class={columns[index]!.align ?? ""} data-title={columns[index]!.title}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
