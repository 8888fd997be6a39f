import { readFile } from 'node:fs/promises';
import { apiEnvironment } from '@recount/api';
import { workerEnvironment } from '@recount/worker';
import { expect, it } from 'vitest';
import { z } from 'zod';

interface Setting {
  description: string;
  default?: string | number;
  minimum?: number;
  maximum?: number;
  enum?: string[];
}

const UNITS = [
  ['TiB', 1024 ** 4],
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
] as const;

function formatNumber(value: number, name: string): string {
  if (name.endsWith('_PORT')) return String(value);
  const [unit, bytes] = UNITS.find(([, bytes]) => name.endsWith('_BYTES') && value >= bytes && value % bytes === 0) ?? [
    '',
    1,
  ];
  return `${(value / bytes).toLocaleString('en')} ${unit}`.trim();
}

const withoutPadding = (row: string): string => row.replace(/ +\|/g, ' |');

function formatSettings(programs: Record<string, z.ZodObject>): string[] {
  const rows = new Map<string, string>();
  for (const [program, schema] of Object.entries(programs)) {
    const { properties, required } = z.toJSONSchema(schema, { io: 'input' });
    for (const [name, property] of Object.entries(properties ?? {})) {
      const setting = property as Setting;
      const format = (value: string | number): string =>
        typeof value === 'string' ? `\`${value}\`` : formatNumber(value, name);
      const fallback = setting.default === undefined ? 'none' : format(setting.default);
      const range =
        setting.minimum === undefined ? '' : `${format(setting.minimum)} to ${format(setting.maximum ?? 0)}`;
      const cells = [
        required?.includes(name) ? 'required' : fallback,
        setting.enum?.map(format).join(', ') ?? range,
        setting.description,
      ];
      const readBy = rows.has(name) ? 'both' : program;
      rows.set(name, withoutPadding(`| \`${name}\` | ${readBy} | ${cells.join(' | ')} |`));
    }
  }
  return [...rows.values()];
}

it('docs/operations.md lists exactly the variables that API and worker read, with defaults and bounds', async () => {
  const text = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
  const [, section = ''] = /\n## Settings\n(.*?)\n## /s.exec(text) ?? [];
  const listed = section.split('\n').filter((line) => line.startsWith('| `'));
  expect(listed.map(withoutPadding)).toEqual(formatSettings({ api: apiEnvironment, worker: workerEnvironment }));
});
