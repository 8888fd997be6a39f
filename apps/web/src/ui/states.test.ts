import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { ApiError } from '../server-data/client.ts';
import { Failure } from './states.tsx';

const toTexts = (problem: ConstructorParameters<typeof ApiError>[1]): string[] =>
  renderToStaticMarkup(createElement(Failure, { error: new ApiError(422, problem) })).match(/[^<>]+(?=<\/p>)/g) ?? [];

it('says once what the server says of the only parameter at fault', () => {
  const detail = 'son may be one of several models';
  const error = { location: 'query' as const, field: 'model', message: detail };
  const other = { ...error, field: 'from', message: 'No time' };
  expect(toTexts({ title: 'Not valid', detail, errors: [error] })).toEqual(['Not valid', detail]);
  expect(toTexts({ title: 'Not valid', detail, errors: [error, other] })).toEqual([
    'Not valid',
    detail,
    'from: No time',
  ]);
});
