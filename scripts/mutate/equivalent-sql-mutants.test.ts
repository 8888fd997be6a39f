import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { EQUIVALENT_SQL_MUTANTS, findEquivalent } from './equivalent-sql-mutants.ts';
import { listSqlMutants } from './sql-mutants.ts';
import { TARGETS } from './targets.ts';

const FILES = TARGETS.flatMap((target) => (target.kind === 'sql' ? target.files.map(({ file }) => file) : []));

it('lists only changes that the source still has', () => {
  const found = FILES.flatMap((file) => {
    const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    return listSqlMutants(source).flatMap((mutant) => findEquivalent(file, source, mutant) ?? []);
  });
  expect(new Set(found)).toEqual(new Set(EQUIVALENT_SQL_MUTANTS));
});
