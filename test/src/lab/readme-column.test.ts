import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { PROGRAMS } from './programs/programs.ts';
import { toReadme } from './readme-column.ts';

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');

const README = `# Title

| agent                                    | model |
| ---------------------------------------- | ----- |
| [Codex](docs/formats/codex.md)           | ●     |
| [opencode, Kilo](docs/formats/opencode.md) | ●     |
| [Amp](docs/formats/amp.md)               | ◐     |

Text.
`;
const PAGE = `| agent    | version | run on     | verified | two turns |
| -------- | ------- | ---------- | -------- | --------- |
| Codex    | 2.0     | 2026-11-27 | 1.9      | wrong     |
| opencode | 3.0     | 2026-11-27 | 3.0      | right     |
`;

it('the table of agents gets a column of the versions that were right in the lab', () => {
  const readme = toReadme(README, PAGE, PROGRAMS);
  expect(readme).toContain('| [Codex](docs/formats/codex.md)             | ●     | 1.9 ');
  expect(readme).toContain('| [opencode, Kilo](docs/formats/opencode.md) | ●     | 3.0, – ');
  expect(readme).toContain('| [Amp](docs/formats/amp.md)                 | ◐     | – ');
  expect(readme).toMatch(/^# Title\n\n\| agent .*\[verified\]\(docs\/agents\.md\) \|\n/);
  expect(readme).toMatch(/\|\n\nText\.\n$/);
  expect(toReadme(readme, PAGE, PROGRAMS)).toBe(readme);
});

it("the README's table has the verified versions of docs/agents.md", () => {
  expect(toReadme(read('README.md'), read('docs/agents.md'), PROGRAMS)).toBe(read('README.md'));
});
