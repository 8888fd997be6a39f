import { readVerified } from './agents-page.ts';
import type { Program } from './programs/program.ts';
import { formatRows, readTable } from './table.ts';

const TABLE_START = /^\| agent .*\n\| -+ /m;
const HEAD = '[verified](docs/agents.md)';
/** Of the page of an agent's files. */
const LINK = /\(docs\/formats\/([\w-]+)\.md\)/;

/** The README with the verified versions of the lab's page as the last column of its table of agents. */
export function toReadme(readme: string, page: string, programs: readonly Program[]): string {
  const start = readme.search(TABLE_START);
  if (start === -1) throw new Error('The README has no table of agents');
  const table = readme.slice(start).split(/\n(?!\|)/)[0] ?? '';
  const verified = readVerified(page);
  const [head = [], ...rows] = readTable(table);
  const width = head.filter((cell) => cell !== HEAD).length;
  const toVersions = (cell: string): string => {
    const name = LINK.exec(cell)?.[1];
    const versions = programs
      .filter(({ agent, formatPage = agent }) => formatPage === name)
      .map(({ label }) => verified.get(label) ?? '–');
    return versions.length === 0 ? '–' : versions.join(', ');
  };
  const cells = [
    [...head.slice(0, width), HEAD],
    ...rows.map((row) => [...row.slice(0, width), toVersions(row[0] ?? '')]),
  ];
  return readme.slice(0, start) + formatRows(cells) + readme.slice(start + table.length);
}
