// SPDX-License-Identifier: Apache-2.0
// node server.mjs PORT - JPEG in, JPEG out at quality 85, as a form upload: what a fastify + sharp service costs before it
// does anything to the picture; and /thumbnail, with ?shrink=true or without.
import Fastify from 'fastify';
import multipart from '@fastify/multipart';
import sharp from 'sharp';

const app = Fastify({ bodyLimit: 64 << 20 });
await app.register(multipart, { limits: { fileSize: 64 << 20 } });
app.post('/decode', async (request, reply) => {
  const upload = await request.file();
  const result = await sharp(await upload.toBuffer()).jpeg({ quality: 85 }).toBuffer();
  return reply.type('image/jpeg').send(result);
});
// A picture 320 pixels wide. sharp decodes a JPEG at a half, quarter or eighth of its size where that does; with an extract
// of all of it in front, whose size is asked for first, it decodes all.
app.post('/thumbnail', async (request, reply) => {
  const upload = await request.file(), image = sharp(await upload.toBuffer());
  if (request.query.shrink !== 'true') {
    const { width, height } = await image.metadata();
    image.extract({ left: 0, top: 0, width, height });
  }
  const result = await image.resize(320).jpeg({ quality: 85 }).toBuffer();
  return reply.type('image/jpeg').send(result);
});
await app.listen({ port: Number(process.argv[2] ?? 8195), host: '127.0.0.1' });
