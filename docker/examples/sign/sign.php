<?php
// SPDX-License-Identifier: Apache-2.0
// php sign.php FILE KEY METHOD PATH [NAME=VALUE]... prints an address that a key of a file of keys has signed, for five minutes.
function signed(string $method, string $path, string $key, string $secret, array $query): string
{
    $query += ['key' => $key, 'expires' => time() + 300];
    ksort($query, SORT_STRING);
    $text = http_build_query($query, '', '&', PHP_QUERY_RFC3986);
    $digest = hash_hmac('sha256', "burin-1\n$method\n$path\n$text", base64_decode(strtr($secret, '-_', '+/')), true);
    return "$path?$text&signature=" . rtrim(strtr(base64_encode($digest), '+/', '-_'), '=');
}

[, $file, $key, $method, $path] = $argv;
$query = [];
foreach (array_slice($argv, 5) as $argument) {
    [$name, $value] = explode('=', $argument, 2);
    if (isset($query[$name])) {
        fwrite(STDERR, "a name is given twice\n");
        exit(1);
    }
    $query[$name] = $value;
}
$secrets = array_column(json_decode(file_get_contents($file), true)['keys'], 'secret', 'id');
echo signed($method, $path, $key, $secrets[$key], $query), "\n";
