// SPDX-License-Identifier: Apache-2.0
// go run sign.go FILE KEY METHOD PATH [NAME=VALUE]... prints an address that a key of a file of keys has signed, for five minutes.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"
	"time"
)

func signed(method, path, key string, secret []byte, query map[string]string) string {
	all := url.Values{"key": {key}, "expires": {fmt.Sprint(time.Now().Unix() + 300)}}
	for name, value := range query {
		all.Set(name, value)
	}
	text := strings.ReplaceAll(all.Encode(), "+", "%20")
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("burin-1\n" + method + "\n" + path + "\n" + text))
	return path + "?" + text + "&signature=" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func main() {
	var file struct{ Keys []struct{ ID, Secret string } }
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	query := map[string]string{}
	for _, argument := range os.Args[5:] {
		name, value, _ := strings.Cut(argument, "=")
		if _, twice := query[name]; twice {
			log.Fatal("a name is given twice")
		}
		query[name] = value
	}
	for _, key := range file.Keys {
		if key.ID == os.Args[2] {
			var secret []byte
			secret, err = base64.RawURLEncoding.DecodeString(key.Secret)
			fmt.Println(signed(os.Args[3], os.Args[4], key.ID, secret, query))
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}
