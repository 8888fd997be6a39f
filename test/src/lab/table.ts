import type { Difference } from './compare.ts';

/** An answer; `marker` is undefined if the program asked for it itself. */
interface Unwritten {
  number: number;
  marker: string | undefined;
}

/** The lab's findings about an agent in a situation. */
export interface Cell {
  agent: string;
  situation: string;
  verdict: 'right' | 'wrong' | 'not tried' | 'failed';
  /** Why it was not tried, or how it failed. */
  reason?: string | undefined;
  differences: readonly Difference[];
  /** Answers whose usage the program did not write down, mostly to its own requests, such as for a title. */
  unwritten: readonly Unwritten[];
  /** Purposes of requests that telemetry has, and the program's sessions have not; undefined without telemetry. */
  onlyTelemetry?: readonly string[];
}

export interface AgentResult {
  agent: string;
  label: string;
  version: string | undefined;
  cells: readonly Cell[];
  /** Why the program was not run at all. */
  reason?: string | undefined;
}

const MARKS: Record<Cell['verdict'], string> = {
  right: 'right',
  wrong: '**wrong**',
  failed: '**failed**',
  'not tried': '–',
};

export const isRight = ({ cells }: AgentResult): boolean =>
  cells.every(({ verdict }) => verdict === 'right' || verdict === 'not tried') &&
  cells.some(({ verdict }) => verdict === 'right');

/** Rows of a table, with agents in rows, situations in columns, the head first. */
export function toTable(
  results: readonly AgentResult[],
  situations: readonly { id: string; label: string }[],
  date: string,
  toVerified: (result: AgentResult) => string,
): string[][] {
  const rows = results.map((result) => [
    result.label,
    result.version ?? '–',
    date,
    toVerified(result),
    ...situations.map(
      ({ id }) => MARKS[result.cells.find(({ situation }) => situation === id)?.verdict ?? 'not tried'],
    ),
  ]);
  return [['agent', 'version', 'run on', 'verified', ...situations.map(({ label }) => label)], ...rows];
}

/** A table in Markdown, its columns of equal width; the first row is the head. */
export function formatRows(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const toLine = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  return [toLine(head), toLine(widths.map((width) => '-'.repeat(width))), ...body.map(toLine)].join('\n');
}

/** Cells of a table in Markdown that a text begins with, row by row, the head first. */
export function readTable(text: string): string[][] {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  const rows = lines.slice(0, end === -1 ? undefined : end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return rows.filter((_, index) => index !== 1);
}
