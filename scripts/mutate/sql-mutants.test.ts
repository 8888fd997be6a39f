import { expect, it } from 'vitest';
import { listSqlMutants } from './sql-mutants.ts';

/** The mutants of a statement in a template literal. */
function mutate(sql: string): string[] {
  const source = `const query = sql\`${sql}\`;`;
  return listSqlMutants(source).map(({ start, original, replacement }) => {
    expect(source.slice(start, start + original.length)).toBe(original);
    const mutated = source.slice(0, start) + replacement + source.slice(start + original.length);
    return mutated.slice('const query = sql`'.length, -2);
  });
}

it.each([
  ['SELECT a WHERE b AND c', ['SELECT a WHERE b OR c']],
  ['SELECT a WHERE b OR c', ['SELECT a WHERE b AND c']],
  ['SELECT a WHERE b IS NULL', ['SELECT a WHERE b IS NOT NULL']],
  ['SELECT a WHERE b IS NOT NULL', ['SELECT a WHERE b IS NULL']],
  ['SELECT a WHERE NOT b', ['SELECT a WHERE b']],
  ['SELECT a WHERE NOT EXISTS (b)', ['SELECT a WHERE EXISTS (b)']],
  ['SELECT DISTINCT a', ['SELECT a']],
  ['SELECT count(DISTINCT a)', ['SELECT count(a)']],
  ['SELECT a FROM b LEFT JOIN c', ['SELECT a FROM b JOIN c']],
  ['SELECT a UNION ALL SELECT b', ['SELECT a UNION SELECT b']],
  ['SELECT a ORDER BY b DESC NULLS LAST', ['SELECT a ORDER BY b NULLS LAST', 'SELECT a ORDER BY b DESC NULLS FIRST']],
  ['SELECT min(a)', ['SELECT max(a)']],
  ['SELECT max(a)', ['SELECT min(a)']],
  ['SELECT sum(a)', ['SELECT max(a)']],
  ['SELECT bool_or(a)', ['SELECT bool_and(a)']],
  ['SELECT bool_and(a)', ['SELECT bool_or(a)']],
  ['SELECT greatest(a)', ['SELECT least(a)']],
  ['SELECT least(a)', ['SELECT greatest(a)']],
  ['SELECT true', ['SELECT false']],
  ['SELECT a + b', ['SELECT a - b']],
  ["SELECT a WHERE b IN ('c', 'd')", ["SELECT a WHERE b IN ('none', 'd')", "SELECT a WHERE b IN ('c', 'none')"]],
])('changes %s', (sql, expected) => {
  expect(mutate(sql).sort()).toEqual(expected.sort());
});

it.each([
  ['=', '<>'],
  ['<>', '='],
  ['<', '<='],
  ['>', '>='],
  ['<=', '<'],
  ['>=', '>'],
])('turns %s, and makes the comparison true', (operator, turned) => {
  expect(mutate(`SELECT a WHERE b.c ${operator} d`).sort()).toEqual(
    [`SELECT a WHERE b.c ${turned} d`, 'SELECT a WHERE true'].sort(),
  );
});

it('skips a comparison whose other side is a parameter, or that spans a placeholder', () => {
  expect(mutate('SELECT a WHERE b = $1')).toContain('SELECT a WHERE true');
  expect(mutate(`SELECT a WHERE b = \${workspaceId}`)).toContain('SELECT a WHERE true');
});

it('skips mutants that Postgres would refuse, and what is not SQL', () => {
  expect(mutate('UPDATE t SET a = b').some((sql) => sql.includes('true'))).toBe(false);
  expect(mutate('SELECT a FOR UPDATE')).toEqual([]);
  expect(mutate('SELECT a BETWEEN 3 PRECEDING AND 1 FOLLOWING')).toEqual([]);
  expect(mutate('SELECT a -- b AND c\n')).toEqual([]);
  expect(listSqlMutants('const a = b AND c; // sql`SELECT a AND b`\nconst d = `not of a database AND so on`;')).toEqual(
    [],
  );
});

it('finds SQL in placeholders of other SQL, and its line', () => {
  const source = `const a = 'it\\'s';\nconst b = sql\`SELECT x \${c ? sql\`WHERE d\n AND e\` : { f: 1 }} OR g\`;`;
  expect(listSqlMutants(source)).toMatchObject([
    { line: 3, original: 'AND', replacement: 'OR' },
    { line: 3, original: 'OR', replacement: 'AND' },
  ]);
});

it('removes each of the sort keys but the last', () => {
  const source = 'const ORDER = sql.raw(`e.a, t.b DESC, e.c`);';
  const dropped = listSqlMutants(source).filter(({ replacement }) => replacement === '');
  expect(dropped.map(({ original }) => original)).toEqual(['e.a, ', 't.b DESC, ', ' DESC']);
});
