import type { FastifyServerOptions } from 'fastify';

const compile = (): never => {
  throw new Error('No compiler of schemas is set');
};

/** In place of fastify's own compilers of JSON Schema, which it otherwise loads though others are set: 3 MB. */
export const NO_COMPILERS = {
  buildValidator: compile,
  buildSerializer: compile,
} satisfies NonNullable<FastifyServerOptions['schemaController']>['compilersFactory'];
