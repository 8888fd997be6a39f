import { hasMoreValues } from '@recount/core';
import type { Reader, Root, Type } from 'protobufjs';
import { OTLP_SCHEMA, type OtlpMessages } from './otlp-schema.ts';

/**
 * The most messages of protobuf, or values of JSON, that are decoded of a request. Each takes some hundred bytes of
 * memory, however few bytes it has: an empty message has two. Collectors send 8,192 records together by default, and a
 * record of an agent has some 25 attributes, each of two messages.
 */
export const MAX_OTLP_VALUES = 1_000_000;

/** A request would decode to more than `MAX_OTLP_VALUES`. */
export class TooManyValuesError extends Error {
  override name = 'TooManyValuesError';
}

let root: Promise<Root> | undefined;

/** Loads the library with the first message, because most installations receive none. */
async function findType(name: keyof OtlpMessages): Promise<Type> {
  root ??= import('protobufjs').then(({ default: protobuf }) => protobuf.parse(OTLP_SCHEMA).root);
  return (await root).lookupType(name);
}

/**
 * The number of messages that are still allowed after those in the reader's bytes up to `end`. Throws
 * TooManyValuesError if none is, before any of them takes memory.
 */
function takeMessages(reader: Reader, type: Type, end: number, allowed: number): number {
  let left = allowed - 1;
  if (left < 0) throw new TooManyValuesError();
  while (reader.pos < end) {
    const tag = reader.uint32();
    const wireType = tag & WIRE_TYPE_BITS;
    const of = wireType === LENGTH_DELIMITED ? type.fieldsById[tag >>> 3]?.resolve().resolvedType : null;
    if (of != null && 'fieldsById' in of) left = takeMessages(reader, of, reader.uint32() + reader.pos, left);
    else reader.skipType(wireType);
  }
  return left;
}

const WIRE_TYPE_BITS = 7;
const LENGTH_DELIMITED = 2;

/** Decodes protobuf. Throws TooManyValuesError, and another error for bytes that are no message of this type. */
export async function decodeProtobuf<Name extends keyof OtlpMessages>(
  name: Name,
  bytes: Uint8Array,
): Promise<OtlpMessages[Name]> {
  const type = await findType(name);
  const { default: protobuf } = await import('protobufjs');
  takeMessages(protobuf.Reader.create(bytes), type, bytes.byteLength, MAX_OTLP_VALUES);
  return type.toObject(type.decode(bytes), { longs: Number, enums: Number }) as OtlpMessages[Name];
}

/** Decodes OTLP’s JSON. Throws TooManyValuesError, and another error for what is no JSON, or no message of this type. */
export async function decodeJson<Name extends keyof OtlpMessages>(
  name: Name,
  bytes: Uint8Array,
): Promise<OtlpMessages[Name]> {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  if (hasMoreValues(text, MAX_OTLP_VALUES)) throw new TooManyValuesError();
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('Not an object');
  const type = await findType(name);
  return type.toObject(type.fromObject(value), { longs: Number, enums: Number }) as OtlpMessages[Name];
}

/** Encodes protobuf. */
export async function encodeProtobuf<Name extends keyof OtlpMessages>(
  name: Name,
  message: OtlpMessages[Name],
): Promise<Uint8Array> {
  const type = await findType(name);
  return type.encode(type.fromObject(message)).finish();
}
