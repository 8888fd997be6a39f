import { readFile } from 'node:fs/promises';
import { AGENTS, TOOL_KINDS } from '@recount/core';
import { expect, it } from 'vitest';

it('every agent and kind of tool has an icon in the dashboard, and there are no others of them', async () => {
  const sprite = await readFile(new URL('../../../apps/web/public/icons.svg', import.meta.url), 'utf8');
  const drawn = [...sprite.matchAll(/<symbol id="((?:agent|tool)-[^"]+)"/g)].map(([, name]) => name);
  const known = [...AGENTS.map(({ id }) => `agent-${id}`), ...TOOL_KINDS.map((kind) => `tool-${kind}`)];
  expect(drawn.sort()).toEqual(known.sort());
});
