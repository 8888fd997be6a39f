import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENTS } from '@recount/core';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const folders = '{packages/{db,ingest,contract},apps/api}/src';

/** Names that are also ordinary words (cursors of pages and terminals), or short enough to be part of others. */
const ambiguous = new Set(['cursor', 'pi', 'amp']);
const names = AGENTS.map(({ id }) => id).filter((id) => !ambiguous.has(id));
const name = new RegExp(`claude|\\b(?:${names.join('|')})\\b`, 'i');

const isProduction = (path: string) => !/\.test\.ts$|\/testing\/|\/fixtures\//.test(path);
const withoutComments = (code: string) => code.replaceAll(/\/\*[\s\S]*?\*\/|^\s*(?:\/\/|--).*$/gm, '');

test('storage, ingestion, contract and API name no agent, and use the registry', () => {
  const paths = globSync(`${folders}/**/*.{ts,sql}`, { cwd: root }).filter(isProduction);
  expect(paths.length).toBeGreaterThan(200);
  const offences = paths.filter((path) => name.test(withoutComments(readFileSync(join(root, path), 'utf8'))));
  expect(offences).toEqual([]);
});
