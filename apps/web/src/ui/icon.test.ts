import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { PAGES, toPageIcon } from '../pages/pages.ts';

it('every page of the menu has an icon, and there are no other icons of pages', async () => {
  const sprite = await readFile(new URL('../../public/icons.svg', import.meta.url), 'utf8');
  const drawn = [...sprite.matchAll(/<symbol id="(page-[^"]+)"/g)].map(([, name]) => name);
  const pages = PAGES.flatMap(({ path, label }) => (label === undefined ? [] : [toPageIcon(path)]));
  expect(drawn.sort()).toEqual(pages.sort());
});
