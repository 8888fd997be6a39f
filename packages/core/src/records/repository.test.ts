import { expect, it } from 'vitest';
import { toRepository } from './repository.ts';

it.each([
  ['https://github.com/ada/heron.git', 'https://github.com/ada/heron.git'],
  ['https://ada:s3cret@github.com/ada/heron', 'https://github.com/ada/heron'],
  ['https://ghp_s3cret@github.com/ada/heron', 'https://github.com/ada/heron'],
  ['HTTPS://ada:s3cret@host:8443/heron', 'HTTPS://host:8443/heron'],
  ['https://ada:s3@cret@host/heron', 'https://host/heron'],
  ['https://ada:s3/cret@host/heron', 'https://host/heron'],
  ['https://ada:s3cret', null],
  ['https://host/heron?private_token=s3cret#s3cret', 'https://host/heron'],
  ['https://host:8443/@ada/heron', 'https://host:8443/@ada/heron'],
  ['ssh://git:s3cret@host:22/heron.git', 'ssh://host:22/heron.git'],
  ['git@github.com:ada/heron.git', 'git@github.com:ada/heron.git'],
  ['ada:s3cret@host/heron', 'host/heron'],
  ['ada/heron', 'ada/heron'],
  ['/home/ada/heron@2', '/home/ada/heron@2'],
  ['C:\\herons@2', 'C:\\herons@2'],
  ['  ', null],
  ['https://s3cret@', null],
  [null, null],
])('keeps no secret of %s', (address, expected) => expect(toRepository(address)).toBe(expected));
