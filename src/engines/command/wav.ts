/** Sound as 16-bit samples of one channel. */
export interface Sound {
  /** Samples a second. */
  readonly sampleRate: number;
  readonly samples: Int16Array<ArrayBuffer>;
}

const HEADER_BYTES = 44;
const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;

/**
 * Read a WAV file of whole numbers of 8 to 32 bits or of floats, its channels
 * mixed to one. A length that the writer never filled in ends with the file.
 *
 * @param bytes The file.
 * @returns The sound, or undefined when it is none of that.
 */
export function readWav(bytes: Uint8Array<ArrayBuffer>): Sound | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const tag = (at: number) =>
    String.fromCharCode(...bytes.subarray(at, at + 4));
  if (bytes.length < 12 || tag(0) !== "RIFF" || tag(8) !== "WAVE") {
    return undefined;
  }
  let sample: ((at: number) => number) | undefined;
  let channels = 0;
  let sampleRate = 0;
  let sampleBytes = 0;
  for (let at = 12; at + 8 <= bytes.length;) {
    const name = tag(at);
    const start = at + 8;
    const length = Math.min(view.getUint32(at + 4, true), bytes.length - start);
    if (name === "fmt " && length >= 16) {
      const said = view.getUint16(start, true);
      const format = said === EXTENSIBLE && length >= 26
        ? view.getUint16(start + 24, true)
        : said;
      channels = view.getUint16(start + 2, true);
      sampleRate = view.getUint32(start + 4, true);
      const bits = view.getUint16(start + 14, true);
      sampleBytes = bits / 8;
      sample = sampleReader(view, format, bits);
    }
    if (name === "data") {
      if (sample === undefined || channels === 0 || sampleRate === 0) {
        return undefined;
      }
      const frameBytes = channels * sampleBytes;
      const samples = new Int16Array(Math.floor(length / frameBytes));
      for (let frame = 0; frame < samples.length; frame++) {
        let sum = 0;
        for (let channel = 0; channel < channels; channel++) {
          sum += sample(start + frame * frameBytes + channel * sampleBytes);
        }
        samples[frame] = bounded(sum / channels);
      }
      return { sampleRate, samples };
    }
    at = start + length + length % 2;
  }
  return undefined;
}

/** Reads one sample, scaled to 16 bits. */
function sampleReader(
  view: DataView,
  format: number,
  bits: number,
): ((at: number) => number) | undefined {
  if (format === FLOAT && bits === 32) {
    return (at) => view.getFloat32(at, true) * 0x7fff;
  }
  if (format !== PCM) return undefined;
  switch (bits) {
    case 8:
      return (at) => (view.getUint8(at) - 128) * 256;
    case 16:
      return (at) => view.getInt16(at, true);
    case 24:
      return (at) => view.getInt16(at + 1, true);
    case 32:
      return (at) => view.getInt16(at + 2, true);
    default:
      return undefined;
  }
}

function bounded(value: number): number {
  return Math.max(-0x8000, Math.min(0x7fff, Math.round(value)));
}

/**
 * Write a WAV file.
 *
 * @param sound What it holds.
 * @returns The file.
 */
export function writeWav({ sampleRate, samples }: Sound): Uint8Array<
  ArrayBuffer
> {
  const data = rawSamples(samples);
  const bytes = new Uint8Array(HEADER_BYTES + data.length);
  const view = new DataView(bytes.buffer);
  const put = (at: number, text: string) =>
    bytes.set(new TextEncoder().encode(text), at);
  put(0, "RIFF");
  view.setUint32(4, bytes.length - 8, true);
  put(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, PCM, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  put(36, "data");
  view.setUint32(40, data.length, true);
  bytes.set(data, HEADER_BYTES);
  return bytes;
}

/**
 * Samples as they stand in a file: two bytes each, the low one first.
 *
 * @param samples The samples.
 */
export function rawSamples(
  samples: Int16Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  samples.forEach((sample, at) => view.setInt16(at * 2, sample, true));
  return bytes;
}

/**
 * Give a sound another rate. Going down, each sample is the mean of those it
 * stands for; going up, it lies on the line between its neighbours.
 *
 * @param sound The sound.
 * @param sampleRate Samples a second wanted.
 * @returns The sound at that rate.
 */
export function resample(sound: Sound, sampleRate: number): Sound {
  const { samples } = sound;
  if (sound.sampleRate === sampleRate) return sound;
  const step = sound.sampleRate / sampleRate;
  const result = new Int16Array(Math.floor(samples.length / step));
  for (let at = 0; at < result.length; at++) {
    const from = at * step;
    result[at] = bounded(
      step >= 2 ? meanOf(samples, from, from + step) : between(samples, from),
    );
  }
  return { sampleRate, samples: result };
}

function meanOf(samples: Int16Array, from: number, to: number): number {
  const first = Math.floor(from);
  const end = Math.max(first + 1, Math.min(samples.length, Math.floor(to)));
  let sum = 0;
  for (let at = first; at < end; at++) sum += samples[at] ?? 0;
  return sum / (end - first);
}

function between(samples: Int16Array, place: number): number {
  const at = Math.floor(place);
  const here = samples[at] ?? 0;
  const next = samples[at + 1] ?? here;
  return here + (next - here) * (place - at);
}
