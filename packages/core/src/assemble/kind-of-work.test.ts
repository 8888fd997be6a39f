import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../lines/json.ts';
import type { ToolUseFacts } from '../records/records.ts';
import { toCommandStep, toWorkStep, type WorkStep } from '../records/work-step.ts';
import { toKindOfWork } from './kind-of-work.ts';

const kindOf = (...steps: WorkStep[]) =>
  toKindOfWork({ steps: new Map(steps.map((step) => [step, 1])), isFixed: false });

const facts: ToolUseFacts = {
  ...{ tool_name: 'Tool', tool_kind: 'edit', mcp_server: null, program: null, file_path: null },
  ...{ subagent_type: null, skill_name: null, input_bytes: 0 },
};

describe('the kind of work of a turn', () => {
  it('follows from its strongest step', () => {
    expect(kindOf('look', 'test', 'edit-code', 'commit')).toBe('coding');
    expect(kindOf('look', 'commit')).toBe('operations');
    expect(kindOf('look', 'edit-test')).toBe('testing');
    expect(kindOf('look', 'review')).toBe('review');
    expect(kindOf('look', 'plan')).toBe('planning');
    expect(kindOf('look', 'edit-plan')).toBe('planning');
    expect(kindOf('look')).toBe('exploring');
  });

  it('is debugging if something failed before the first edit', () => {
    expect(toKindOfWork({ steps: new Map([['edit-code', 1]]), isFixed: true })).toBe('debugging');
  });

  it('is exploring if programs run among many more looks', () => {
    expect(
      toKindOfWork({
        steps: new Map([
          ['look', 3],
          ['run', 1],
        ] as const),
        isFixed: false,
      }),
    ).toBe('exploring');
    expect(
      toKindOfWork({
        steps: new Map([
          ['look', 2],
          ['run', 1],
        ] as const),
        isFixed: false,
      }),
    ).toBe('operations');
  });

  it('is a conversation without calls, and unknown if no rule knows its calls', () => {
    expect(kindOf()).toBe('conversation');
    expect(kindOf('other')).toBe('unknown');
    expect(kindOf('look', 'edit-code', 'hidden')).toBe('unknown');
  });
});

describe('the step of an edit', () => {
  it.each([
    ['/a/src/x.ts', 'edit-code'],
    ['/a/src/x.test.ts', 'edit-test'],
    ['/a/tests/x.py', 'edit-test'],
    ['/a/test_x.py', 'edit-test'],
    ['/a/src/contest.ts', 'edit-code'],
    ['/a/README.md', 'edit-text'],
    ['/a/plans/one.md', 'edit-plan'],
    ['/a/PLAN.md', 'edit-plan'],
    [null, 'edit-code'],
    ['xxxxxxxx', 'hidden'],
  ])('is told by the file: %s is %s', (path, step) => {
    expect(toWorkStep({ ...facts, file_path: path }, {})).toBe(step);
  });
});

describe('a call without its text', () => {
  it.each([
    ['edit', 'xxxx'],
    ['shell', 'xxxxxxxx'],
    ['shell', { command: 'xxxxxxxx' }],
    ['shell', { command: ['xxxx', 'xxx', 'xxxxxxxx'] }],
  ] as const)('is hidden: %s of %j', (kind, input) => {
    expect(toWorkStep({ ...facts, tool_kind: kind }, input as JsonValue)).toBe('hidden');
  });
});

describe('the step of a command', () => {
  it.each([
    ['ls -la', 'look'],
    ['', 'look'],
    ['cd /a && git status', 'look'],
    ['git show main:README.md', 'look'],
    ['git diff | head', 'review'],
    ['git add . && git commit -m "npm test"', 'commit'],
    ['git commit -m "$(cat <<\'EOF\'\nfix\nEOF\n)"', 'commit'],
    ['gh pr create --fill', 'commit'],
    ['npm run test 2>&1 | tail -5', 'test'],
    ['bun run test', 'test'],
    ['npx vitest run a', 'test'],
    ['pnpm exec vitest', 'test'],
    ['cargo test', 'test'],
    ['python3 -m pytest -q', 'test'],
    ['CI=1 go test ./...', 'test'],
    ['npm install', 'operate'],
    ['ssh host "npm test"', 'operate'],
    ['docker compose up -d', 'operate'],
    ['python3 script.py', 'run'],
    ['echo "npm test"', 'look'],
    ["sed -n '1,9p' a.ts", 'look'],
    ["sed -i 's/a/b/' a.ts", 'edit-code'],
    ["cat > src/a.ts <<'EOF'\nnpm test\nEOF", 'edit-code'],
    ['echo "a > b.ts"', 'look'],
    ['ls > /dev/null 2>&1', 'look'],
    ['cat > /tmp/a.txt', 'look'],
    ["bash -lc 'npm test'", 'test'],
  ])('%j is %s', (command, step) => {
    expect(toCommandStep(command)).toBe(step);
  });

  it('is found in any text in time that grows with its length', () => {
    const hostile = ['"', "'", '<<', '\\', '> ', 'npm test '].map((text) => text.repeat(100_000));
    // Quadratic time would exceed the time limit of a test.
    for (const command of hostile) expect(toCommandStep(command)).toMatch(/^(?:look|run|test)$/);
  });
});
